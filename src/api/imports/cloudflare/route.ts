import { z } from 'zod'

const link = z.object({ elementId: z.string() })
const element = z.object({
  id: z.string(),
  type: z.string(),
  outputs: z.record(z.string(), link).catch({}),
  properties: z.object({ provider: z.string().optional(), model: z.string().optional() }).catch({}),
})
export const routeRecord = z.object({ name: z.string(), elements: z.array(element).max(200) })

type Route = z.output<typeof routeRecord>
type Element = z.output<typeof element>

/** A model at the end of a path through a route. */
interface RouteTarget {
  provider: string
  model: string
  weight: number
}

export interface RoutePlan {
  targets: RouteTarget[]
  /** Whether requests are divided, instead of tried in their order. */
  isSplit: boolean
  /** Kinds of elements that the path went around. */
  ignored: ReadonlySet<string>
}

/** Follows a route from its start; a text says why it has no counterpart. */
export function followRoute({ elements }: Route): RoutePlan | string {
  const byId = new Map(elements.map((one) => [one.id, one]))
  const plan = { targets: [] as RouteTarget[], isSplit: false, ignored: new Set<string>() }
  const visited = new Set<string>()
  const follow = (id: string | undefined, weight: number): string | null => {
    const found = byId.get(id ?? '')
    if (!found || found.type === 'end' || visited.has(found.id)) return null
    visited.add(found.id)
    return step(found, weight, plan, follow)
  }
  const problem = follow(elements.find(({ type }) => type === 'start')?.id, 1)
  return problem ?? (plan.targets.length > 0 ? plan : 'reaches no model')
}

type Follow = (id: string | undefined, weight: number) => string | null

function step(
  { type, outputs, properties }: Element,
  weight: number,
  plan: { targets: RouteTarget[]; isSplit: boolean; ignored: Set<string> },
  follow: Follow,
): string | null {
  if (type === 'start') return follow(outputs.next?.elementId, weight)
  if (type === 'rate') {
    plan.ignored.add('rate and budget limits')
    return follow(outputs.success?.elementId, weight)
  }
  if (type === 'model') {
    const { provider = '', model = '' } = properties
    plan.targets.push({ provider, model, weight })
    // In a split, every other target is a fallback already.
    return plan.isSplit ? null : follow(outputs.fallback?.elementId, 0)
  }
  if (type !== 'percentage') return 'chooses by conditions: create routing rules, docs/routing-rules.md'
  plan.isSplit = true
  const shares = toShares(Object.keys(outputs))
  for (const [name, { elementId }] of Object.entries(outputs)) {
    const problem = follow(elementId, weight * (shares.get(name) ?? 0))
    if (problem !== null) return problem
  }
  return null
}

/** What is left of a hundred percent goes to `else`. */
function toShares(names: readonly string[]): Map<string, number> {
  const shares = new Map(names.map((name) => [name, Number.parseFloat(name) / 100 || 0]))
  const sum = [...shares.values()].reduce((a, b) => a + b, 0)
  if (shares.has('else')) shares.set('else', Math.max(0, 1 - sum))
  return shares
}
