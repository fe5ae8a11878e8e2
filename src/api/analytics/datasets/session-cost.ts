import { z } from 'zod'
import { type TurnRange, turnRanges } from '../../../analytics/datasets/session-costs.ts'
import { readRecent } from '../../../analytics/stores.ts'
import { permaslugOf } from '../../../catalog/lookup.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { resolveAppName } from './app-rankings.ts'
import { findApps, listSessionFigures } from './store.ts'

export const sessionCostQuery = z.object({
  app_slug: z.string().min(1).max(300).optional(),
  model: z.string().min(1).max(300).optional().describe('The name or the permanent name of a model.'),
  turn_range: z.enum(turnRanges).optional(),
  limit: queryInteger({ min: 1, max: 500, fallback: 100 }),
  offset: queryInteger({ min: 0, max: 5000, fallback: 0 }),
})

export const sessionCostItem = z
  .strictObject({
    app_name: z.string(),
    app_slug: z.string(),
    median_session_cost_usd: z.number(),
    model_permaslug: z.string(),
    turn_range: z.enum(turnRanges),
  })
  .meta({ id: 'SessionCostItem' })

type SessionCostQuery = z.output<typeof sessionCostQuery>

export async function listSessionCosts(
  gateway: Gateway,
  query: SessionCostQuery,
  minOrganizations: number,
): Promise<z.input<typeof sessionCostItem>[]> {
  const { app_slug: appSlug, model, turn_range: turnRange, limit, offset } = query
  const models = model === undefined ? undefined : findModelIds(gateway, model)
  const filter = { appSlug, models, turnRange, minOrganizations, limit, offset }
  const figures = await readRecent(gateway, (db) => listSessionFigures(db, filter))
  const rows = figures.map(({ subject, cost_nanos }) => {
    const [url = '', id = '', range = ''] = subject.split('\n')
    return { url, id, range: range as TurnRange, cost_nanos }
  })
  const apps = await findApps(gateway.db, [...new Set(rows.map(({ url }) => url))])
  return rows.map(({ url, id, range, cost_nanos }) => ({
    app_name: resolveAppName(gateway, url, apps.get(url)?.title ?? null),
    app_slug: apps.get(url)?.slug ?? url,
    median_session_cost_usd: usdFromNanos(cost_nanos),
    model_permaslug: permaslugOf(gateway.catalog, id),
    turn_range: range,
  }))
}

/** The models in the catalog with this name, and the name itself, which may be that of a removed model. */
function findModelIds({ catalog }: Gateway, name: string): string[] {
  const known = [...catalog.bySlug.values()].filter(({ canonical_slug }) => canonical_slug === name)
  return [...new Set([name, ...known.map(({ id }) => id)])].slice(0, maxModelIds)
}

const maxModelIds = 20
