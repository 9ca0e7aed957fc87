/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket and its conversations.
 */
#include "control/server.h"

#include "base/cleanup.h"
#include "conversation.h"
#include "loop/listener.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_MODE 0660

struct control {
    struct loop *loop;
    char *path;
    struct listener *listener;
    control_carry_out carry_out;
    void *data;
    struct conversation *clients[CONTROL_CLIENTS_MAX];
    size_t n_clients;
};

static void client_over(void *data, struct conversation *conversation) {
    struct control *control = data;

    for (size_t i = 0; i < control->n_clients; i++)
        if (control->clients[i] == conversation) {
            control->clients[i] = control->clients[--control->n_clients];
            break;
        }
    conversation_free(conversation);
    listener_enable(control->listener, true);
}

static void client_came(void *data, int fd) {
    struct control *control = data;
    const struct conversation_owner owner = {control->carry_out, control->data, client_over,
                                             control};

    if (control->n_clients == CONTROL_CLIENTS_MAX) {
        cleanup_close(&fd);
        return;
    }
    if (conversation_new(control->loop, fd, &owner, &control->clients[control->n_clients]) < 0)
        return; /* out of memory: it is the client's connection that goes */
    if (++control->n_clients == CONTROL_CLIENTS_MAX)
        listener_enable(control->listener, false);
}

static void say_why(const char *path, int error, char why[CONTROL_WHY_MAX]) {
    const char *text =
        error == EADDRINUSE ? "another process answers there, or it is no socket" : strerror(error);

    (void)snprintf(why, CONTROL_WHY_MAX, "cannot listen on %s: %s", path, text);
}

int control_new(struct loop *loop, const char *path, control_carry_out carry_out, void *data,
                struct control **ret, char why[CONTROL_WHY_MAX]) {
    struct control *control = calloc(1, sizeof(*control));
    int r, error = 0;

    if (!control)
        return -ENOMEM;
    *control =
        (struct control){.loop = loop, .path = strdup(path), .carry_out = carry_out, .data = data};
    r = control->path ? listener_new_unix(loop, path, CONTROL_MODE, client_came, control,
                                          &control->listener, &error)
                      : -ENOMEM;
    if (r != 0) {
        control_free(control);
        if (r > 0)
            say_why(path, error, why);
        return r < 0 ? r : CONTROL_E_REFUSED;
    }
    *ret = control;
    return 0;
}

struct control *control_free(struct control *control) {
    if (!control)
        return NULL;
    for (size_t i = 0; i < control->n_clients; i++)
        conversation_free(control->clients[i]);
    listener_free(control->listener);
    free(control->path);
    free(control);
    return NULL;
}

const char *control_path(const struct control *control) {
    return control->path;
}
