/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this room share: the count of living objects, so that loop_free() can
 * assert that none outlives its loop.
 */
#pragma once

#include "loop/loop.h"

void loop_object_born(struct loop *loop);
void loop_object_died(struct loop *loop);
