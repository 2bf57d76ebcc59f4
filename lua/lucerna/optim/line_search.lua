-- The line search of LBFGS (torch.optim.lbfgs, after torch7's lswolfe.lua and polyinterp.lua): a
-- step that satisfies the strong Wolfe conditions. Nocedal and Wright, "Numerical Optimization",
-- algorithms 3.5 and 3.6. A point is {t =, f =, g =, gtd =}: the step, the loss, the gradient and
-- the gradient along the direction.

local SUFFICIENT, FLAT = 1e-4, 0.9 -- c1, c2

-- The minimum of the cubic through two points, within bounds (or between the points).
local function interpolate(a, b, low, high)
  low, high = low or math.min(a.t, b.t), high or math.max(a.t, b.t)
  local d1 = a.gtd + b.gtd - 3 * (a.f - b.f) / (a.t - b.t)
  local square = d1 * d1 - a.gtd * b.gtd
  local d2 = math.sqrt(square) -- NaN below 0
  if d2 ~= d2 then return (low + high) / 2 end
  local at
  if a.t <= b.t then
    at = b.t - (b.t - a.t) * ((b.gtd + d2 - d1) / (b.gtd - a.gtd + 2 * d2))
  else
    at = a.t - (a.t - b.t) * ((a.gtd + d2 - d1) / (a.gtd - b.gtd + 2 * d2))
  end
  return math.min(math.max(at, low), high)
end

local function too_high(point, start)
  return point.f > start.f + SUFFICIENT * point.t * start.gtd
end

local function is_flat(point, start) return math.abs(point.gtd) <= -FLAT * start.gtd end

-- Points on both sides of a good one, or one good point.
local function bracket(evaluate, start, t, most)
  local before, point = start, evaluate(t)
  for n = 0, most - 1 do
    if too_high(point, start) or (n > 1 and point.f >= before.f) then
      return {before, point}, n
    elseif is_flat(point, start) then
      return {point}, n
    elseif point.gtd >= 0 then
      return {before, point}, n
    end
    local least = point.t + 0.01 * (point.t - before.t)
    before, point = point, evaluate(interpolate(before, point, least, point.t * 10))
  end
  return {start, point}, most
end

-- The next step to try between two points; slow: the last one came too close to a boundary.
local function between(pair, slow)
  local low, high = math.min(pair[1].t, pair[2].t), math.max(pair[1].t, pair[2].t)
  local t, margin = interpolate(pair[1], pair[2]), 0.1 * (high - low)
  if math.min(high - t, t - low) >= margin then return t, false end
  if not (slow or t >= high or t <= low) then return t, true end
  return math.abs(t - high) < math.abs(t - low) and high - margin or low + margin, false
end

--- line_search(evaluate, start, t, size, tolerance, most): the best point found, beginning with
-- step t and going on from there `most` times. evaluate(t) gives points; size is the direction's
-- largest element.
return function(evaluate, start, t, size, tolerance, most)
  local pair, n = bracket(evaluate, start, t, most)
  if #pair == 1 then return pair[1] end
  local low, slow = pair[1].f <= pair[2].f and 1 or 2, false
  while n < most and math.abs(pair[2].t - pair[1].t) * size >= tolerance do
    t, slow = between(pair, slow)
    local point, high = evaluate(t), 3 - low
    n = n + 1
    if too_high(point, start) or point.f >= pair[low].f then
      pair[high] = point
      low = pair[1].f <= pair[2].f and 1 or 2
    else
      local done = is_flat(point, start)
      if not done and point.gtd * (pair[high].t - pair[low].t) >= 0 then pair[high] = pair[low] end
      pair[low] = point
      if done then break end
    end
  end
  return pair[low]
end
