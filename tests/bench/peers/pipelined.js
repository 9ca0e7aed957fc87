// SPDX-License-Identifier: BSD-3-Clause
// The pipelined loop on ioredis.
'use strict';
const Redis = require('ioredis').default || require('ioredis');

function process_(_fields) {}

async function main(path) {
    const r = new Redis({ path });
    const claim = (c, cursor) => c.xautoclaim('orders', 'workers', 'node', 60000, cursor, 'COUNT', 100, 'JUSTID');
    let [cursor, ids] = await claim(r, '0-0');
    let acked = 0;
    for (;;) {
        const done = [];
        if (ids.length > 0)
            for (const [id, fields] of await r.xclaim('orders', 'workers', 'node', 0, ...ids)) {
                process_(fields);
                done.push(id);
            }
        const last = cursor === '0-0';
        const pipe = r.pipeline();
        if (done.length > 0)
            pipe.xack('orders', 'workers', ...done);
        if (!last)
            claim(pipe, cursor);
        const replies = await pipe.exec();
        for (const [error] of replies)
            if (error)
                throw error;
        if (done.length > 0)
            acked += replies.shift()[1];
        if (last)
            break;
        [cursor, ids] = replies[0][1];
    }
    console.log(acked);
    r.disconnect();
}

main(process.argv[2]);
