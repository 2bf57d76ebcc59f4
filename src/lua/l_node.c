/* grad_fn as Lua sees it: an object that owns a reference to a node of the graph, or to the leaf
 * that gradients end at. It reads the graph and changes nothing. */
#include <string.h>

#include "autograd/graph.h"
#include "l_args.h"

typedef struct node_box {
  uint32_t magic;
  luc_l_state *st;
  luc_node *node;
  luc_tensor *leaf; /* one of the two */
} node_box;

static node_box *new_box(lua_State *L, luc_l_state *st) {
  node_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (node_box){LUC_L_MAGIC_NODE, st, NULL, NULL};
  luc_l_set_meta(L, st, LUC_L_NODE_META);
  return box;
}

int luc_l_push_grad_fn(lua_State *L, luc_l_state *st, luc_tensor *t) {
  luc_meta *meta = t->meta;
  luc_l_check(L, st, meta && meta->base ? luc__view_refresh(st->ctx, t) : LUC_OK);
  if (!meta || !meta->node) {
    lua_pushnil(L);
    return 1;
  }
  node_box *box = new_box(L, st);
  box->node = meta->node;
  box->node->refs++;
  return 1;
}

static node_box *to_box(lua_State *L, int index) {
  node_box *box = lua_touserdata(L, index);
  bool ours = box && lua_rawlen(L, index) == sizeof *box && box->magic == LUC_L_MAGIC_NODE;
  return ours ? box : NULL;
}

static int node_gc(lua_State *L) {
  node_box *box = to_box(L, 1);
  luc_l_state *st = box ? box->st : NULL;
  if (!st || !st->ctx) return 0;
  lua_State *outer = luc_l_enter(st, L);
  luc__node_release(st->ctx, box->node);
  luc_tensor_release(st->ctx, box->leaf);
  st->L = outer;
  box->node = NULL;
  box->leaf = NULL;
  return 0;
}

static node_box *check_box(lua_State *L, const char *who) {
  node_box *box = to_box(L, 1);
  if (!box || (!box->node && !box->leaf))
    luc_l_error(L, "%s: expected a grad_fn (got %s)", who, luc_l_given(L, 1));
  luc_l_context(L, box->st);
  return box;
}

luc_node *luc_l_tonode(lua_State *L, int index) {
  const node_box *box = to_box(L, index);
  return box ? box->node : NULL;
}

static int register_after(lua_State *L) {
  return luc_l_node_hook(L, check_box(L, "register_hook")->st, false);
}

static int register_before(lua_State *L) {
  return luc_l_node_hook(L, check_box(L, "register_prehook")->st, true);
}

static int node_name(lua_State *L) {
  const node_box *box = check_box(L, "name");
  char name[LUC_NODE_NAME];
  lua_pushstring(L, box->node ? luc__node_name(name, box->node) : "AccumulateGrad");
  return 1;
}

/* Appends {grad_fn or none, output} to the table on top. */
static void push_edge(lua_State *L, luc_l_state *st, const luc_edge *edge, int at) {
  lua_createtable(L, 2, 0);
  if (edge->to) {
    node_box *box = new_box(L, st);
    if (edge->leaf) {
      box->leaf = luc__retain(edge->to);
    } else {
      box->node = edge->to;
      box->node->refs++;
    }
  } else {
    luc_l_get(L, st, LUC_L_NONE);
  }
  lua_rawseti(L, -2, 1);
  lua_pushinteger(L, (lua_Integer)edge->index + 1);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, at);
}

/* What the gradient goes to: one entry for each tensor that the call took. */
static int push_next(lua_State *L, const node_box *box) {
  const luc_node *node = box->node;
  lua_newtable(L);
  if (!node) return 1;
  uint32_t tensors = node->op < 0 ? ~0u : luc__op_info(box->st->ctx, node->op)->tensor_params;
  int n = 0, list = node->op < 0 ? -1 : luc__op_info(box->st->ctx, node->op)->list_param;
  for (int p = 0; p < node->nslots; p++)
    if (p != list && (p >= 32 || tensors >> p & 1)) push_edge(L, box->st, &node->edges[p], ++n);
  for (int i = 0; i < node->nlist; i++) push_edge(L, box->st, &node->edges[node->nslots + i], ++n);
  return 1;
}

static int node_index(lua_State *L) {
  const node_box *box = check_box(L, "grad_fn");
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!strcmp(key, "next_functions")) return push_next(L, box);
  if (!strcmp(key, "metadata")) return luc_l_push_metadata(L, box->st, box->node, box->leaf);
  if (!strcmp(key, "variable") && box->leaf) {
    luc_l_pushtensor(L, box->st, box->leaf);
    return 1;
  }
  if (!strncmp(key, "__", 2)) return 0;
  luc_l_get(L, box->st, LUC_L_NODE_META);
  lua_pushstring(L, key);
  lua_rawget(L, -2);
  return 1;
}

static int node_eq(lua_State *L) {
  const node_box *a = to_box(L, 1), *b = to_box(L, 2);
  lua_pushboolean(L, a && b && a->node == b->node && a->leaf == b->leaf);
  return 1;
}

static const luaL_Reg node_meta[] = {
    {"__gc", node_gc},
    {"__index", node_index},
    {"__eq", node_eq},
    {"__tostring", node_name},
    {"name", node_name},
    {"register_hook", register_after},
    {"register_prehook", register_before},
    {NULL, NULL},
};

void luc_l_open_nodes(lua_State *L, luc_l_state *st) {
  luc_l_make_meta(L, st, LUC_L_NODE_META, "grad_fn");
  luaL_setfuncs(L, node_meta, 0);
  lua_pop(L, 1);
}
