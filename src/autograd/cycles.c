/* What keeps itself alive. What is new leads to what was there before it, so a cycle needs a tensor
 * that came to lead to something newer: by a gradient with a history (create_graph), or by a write
 * in place. Those are watched, and let go of both when nothing outside of such cycles refers to
 * them, and when the context closes. */
#include "autograd/web.h"
#include "base/array.h"

static void let_go(luc_context *ctx, luc_tensor *t) {
  luc_meta *meta = t->meta;
  luc_tensor *grad = meta->grad;
  meta->grad = NULL;
  luc__unwatch(ctx, meta);
  if (meta->node) luc__drop_history(ctx, meta); /* t may be gone then */
  luc_tensor_release(ctx, grad);
}

/* Gives back the room that the list no longer needs. */
static void trim_list(luc_context *ctx) {
  size_t room = ctx->watched_room;
  while (room > 0 && room / 2 >= ctx->num_watched) room /= 2;
  if (room == ctx->watched_room) return;
  luc_tensor **list = ctx->watched;
  const size_t size = sizeof *list, had = ctx->watched_room * size;
  if (room == 0)
    luc__free(ctx, list, had), list = NULL;
  else if (!(list = luc__realloc(ctx, list, had, room * size)))
    return;
  ctx->watched = list;
  ctx->watched_room = room;
}

/* First of all, since what then is freed may need any layer. */
static void let_go_all(luc_context *ctx) {
  while (ctx->num_watched) let_go(ctx, ctx->watched[ctx->num_watched - 1]);
  trim_list(ctx);
}

luc_status luc__watch(luc_context *ctx, luc_tensor *t) {
  luc_meta *meta = luc__meta(ctx, t);
  if (!meta) return LUC_ERR_MEMORY;
  if (meta->watched) return LUC_OK;
  luc_tensor **list =
      luc__with_room(ctx, ctx->watched, ctx->num_watched, &ctx->watched_room, sizeof *list);
  if (!list) return LUC_ERR_MEMORY;
  ctx->watched = list;
  ctx->before_close = let_go_all;
  list[ctx->num_watched] = t;
  meta->watched = (uint32_t)++ctx->num_watched;
  return LUC_OK;
}

void luc__unwatch(luc_context *ctx, luc_meta *meta) {
  if (!meta->watched) return;
  const uint32_t at = meta->watched - 1;
  luc_tensor *last = ctx->watched[--ctx->num_watched];
  meta->watched = 0;
  if (at == ctx->num_watched) return;
  ctx->watched[at] = last;
  last->meta->watched = at + 1;
}

/* What only such tensors and their graphs refer to. What others hold is looked through too: unless
 * it must be now, not before twice as many nodes are made as that was, a sixth of their time. */
void luc__collect_cycles(luc_context *ctx, bool now) {
  if (!now && ctx->next_seq < ctx->collect_from) return;
  luc_web w = {.ctx = ctx};
  bool known = true;
  for (size_t i = 0; known && i < ctx->num_watched; i++)
    known = luc__web_add(&w, ctx->watched[i], false) >= 0;
  const uint32_t watched = w.n;
  uint32_t lost = 0;
  if (watched && known && luc__web_follow(&w))
    for (uint32_t i = 0; i < watched; i++)
      if (!w.things[i].held) w.order[lost++] = i;
  ctx->collect_from = ctx->next_seq;
  for (uint32_t i = 0; i < w.n; i++) ctx->collect_from += 2 * w.things[i].held;
  for (uint32_t i = 0; i < lost; i++) luc__retain((luc_tensor *)w.things[w.order[i]].p);
  for (uint32_t i = 0; i < lost; i++) let_go(ctx, (luc_tensor *)w.things[w.order[i]].p);
  for (uint32_t i = 0; i < lost; i++) luc_tensor_release(ctx, (luc_tensor *)w.things[w.order[i]].p);
  luc__web_free(&w);
  trim_list(ctx);
}
