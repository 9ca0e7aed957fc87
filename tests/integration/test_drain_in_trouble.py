#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that is stopped while a recovery is in trouble."""

import harness
from harness import GROUP, STREAM, Test, config, pending_count, recovery, strand


class DrainInTrouble(Test):
    def test_a_refused_xack_is_tried_once_more(self):
        """The right came back, and the next try by itself is far away."""
        redis = self.server()
        client = self.client(redis)
        client("ACL", "SETUSER", "recoverer", "on", "nopass", "~*", "+@all", "-xack")
        strand(client, 1)
        daemon = self.daemon(config(
            redis.url, {"orders": recovery(self.handler("exit 0\n"), interval="50s")},
            redis="username = recoverer\npassword_file = "
                  + harness.write(self.path("password"), "any\n", 0o600),
            daemon="drain_timeout = 10m"))
        daemon.wait_record(STATE="error", REDIS_ERROR="NOPERM")
        client("ACL", "SETUSER", "recoverer", "+xack")
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(pending_count(client, STREAM, GROUP), 0)


if __name__ == "__main__":
    harness.main()
