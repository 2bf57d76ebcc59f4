/* x[i], x[{…}], x[mask] and their assignment. */
#ifndef LUC_L_INDEX_H
#define LUC_L_INDEX_H

#include "l_tensor.h"

/* __index and __newindex of a tensor: tensor at 1, index at 2, value at 3. */
int luc_l_index_get(lua_State *L, luc_l_state *st, luc_tensor *t);
/* The same by positions and ranges alone, which reads no data: always a view. */
int luc_l_index_view(lua_State *L, luc_l_state *st, luc_tensor *t);
int luc_l_index_set(lua_State *L, luc_l_state *st, luc_tensor *t);

#endif
