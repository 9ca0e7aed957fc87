/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a record is about, as report/ sees it: the four names, the counters, the limits.
 */
#pragma once

#include "limit.h"
#include "record.h"
#include "report/report.h"

#define SUBJECT_NAMES 4

struct report_subject {
    char *fields[SUBJECT_NAMES]; /* "RECOVERY=orders", ... in the order of enum field */
    struct recovery_counters counters;
    struct limit limits[_EVENT_MAX];
};

/* The consumer's name, not made printable beyond what fields need. */
const char *subject_consumer(const struct report_subject *subject);

/* Begins a record about the subject: its fields are in, the sentence begins with its name. False
 * where the level is not wanted or the kind's limit is used up. What was held back of this kind
 * is said first. */
MUST_CHECK bool subject_begin(struct report_subject *subject, struct record *record,
                              enum event event, struct report_place place);

/* Says of each kind what was held back. */
void subject_tell_held_back(struct report_subject *subject, struct report_place place);
