import { z } from 'zod'
import { macroCategories, taskNames } from '../../../analytics/classifier/tasks.ts'
import { readPublicationTime } from '../../../analytics/datasets/figures.ts'
import { readSessionWindow, sessionWindowDays } from '../../../analytics/datasets/session-costs.ts'
import { readTaskShares, taskWindowDays } from '../../../analytics/datasets/task-shares.ts'
import { readRecent } from '../../../analytics/stores.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { publicDataLimit } from '../../../http/rate-limit.ts'
import { appRankingsItem, appRankingsQuery, rankApps } from './app-rankings.ts'
import { rankingsDailyItem, rankingsDailyQuery, rankModels } from './model-rankings.ts'
import type { Period } from './period.ts'
import {
  buildNotice,
  type LicenseNotice,
  resolveMinOrganizations,
  respondWithLicense,
} from './publication.ts'
import { listSessionCosts, sessionCostItem, sessionCostQuery } from './session-cost.ts'

const tag = 'Datasets'

const notice = {
  license: z.literal('CC-BY-4.0'),
  attribution: z.string().describe('Whom users of the data have to name.'),
}
const rankingsMeta = z
  .strictObject({
    as_of: z.string(),
    end_date: z.string(),
    start_date: z.string(),
    version: z.literal('v1'),
    ...notice,
  })
  .meta({ id: 'RankingsDailyMeta' })
const sessionCostMeta = z
  .strictObject({
    as_of: z.string(),
    version: z.literal('v1'),
    window_days: z.int().nullable(),
    window_end_date: z.string().nullable().describe('Null before the first publication.'),
    ...notice,
  })
  .meta({ id: 'SessionCostMeta' })

const description =
  'Computed from the traffic of this installation, in complete UTC days. A figure that too few organizations contributed to is left out. The data may be used under CC BY 4.0.'

const getAppRankings = defineOperation({
  id: 'getAppRankings',
  method: 'GET',
  path: '/datasets/app-rankings',
  tag,
  summary: 'Ranks apps by the tokens of their requests.',
  description,
  permission: 'datasets:read',
  rateLimit: publicDataLimit,
  query: appRankingsQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(appRankingsItem), meta: rankingsMeta }),
  handle: async ({ gateway, query }) => {
    const { data, period } = await rankApps(gateway, query, await resolveMinOrganizations(gateway))
    return respondWithLicense({ data, meta: await buildRankingsMeta(gateway, period) })
  },
})

const getDailyRankings = defineOperation({
  id: 'getDailyRankings',
  method: 'GET',
  path: '/datasets/rankings-daily',
  tag,
  summary: 'Ranks models by tokens, for each day, week or month.',
  description,
  permission: 'datasets:read',
  rateLimit: publicDataLimit,
  query: rankingsDailyQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(rankingsDailyItem), meta: rankingsMeta }),
  handle: async ({ gateway, query }) => {
    const { data, period } = await rankModels(gateway, query, await resolveMinOrganizations(gateway))
    return respondWithLicense({ data, meta: await buildRankingsMeta(gateway, period) })
  },
})

const getSessionCost = defineOperation({
  id: 'getSessionCost',
  method: 'GET',
  path: '/datasets/session-cost',
  tag,
  summary: 'Lists the median cost of sessions by app, model and number of requests.',
  description: `${description} The medians are of ${sessionWindowDays} days up to a Sunday, and are published once a week.`,
  permission: 'datasets:read',
  rateLimit: publicDataLimit,
  query: sessionCostQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(sessionCostItem), meta: sessionCostMeta }),
  handle: async ({ gateway, query }) => {
    const data = await listSessionCosts(gateway, query, await resolveMinOrganizations(gateway))
    const end = await readSessionWindow(gateway.db)
    const meta: z.input<typeof sessionCostMeta> = {
      as_of: await readAsOf(gateway),
      version: 'v1',
      window_days: end === null ? null : sessionWindowDays,
      window_end_date: end,
      ...(await buildNotice(gateway)),
    }
    return respondWithLicense({ data, meta })
  },
})

async function buildRankingsMeta(
  gateway: Gateway,
  { from, to }: Period,
): Promise<z.input<typeof rankingsMeta> & LicenseNotice> {
  return {
    as_of: await readAsOf(gateway),
    end_date: to,
    start_date: from,
    version: 'v1',
    ...(await buildNotice(gateway)),
  }
}

/** Reads the time of the last publication; the current time before the first. */
async function readAsOf({ db, clock }: Gateway): Promise<string> {
  return (await readPublicationTime(db)) ?? new Date(clock.now()).toISOString()
}

const share = z.number().describe('A fraction from 0 to 1.')
const taskClassification = z
  .strictObject({
    as_of: z.string(),
    classifications: z.array(
      z
        .strictObject({
          category_token_share: share,
          category_usage_share: share,
          display_name: z.string(),
          macro_category: z.string(),
          models: z.array(z.strictObject({ id: z.string(), tag_token_share: share, tag_usage_share: share })),
          tag: z.string(),
          token_share: share,
          usage_share: share,
        })
        .meta({ id: 'TaskClassificationItem' }),
    ),
    macro_categories: z.array(
      z
        .strictObject({ key: z.string(), label: z.string(), token_share: share, usage_share: share })
        .meta({ id: 'TaskClassificationMacroCategory' }),
    ),
    window_days: z.int(),
  })
  .meta({ id: 'TaskClassification' })

const getTaskClassification = defineOperation({
  id: 'getTaskClassification',
  method: 'GET',
  path: '/classifications/task',
  tag: 'Classifications',
  summary: 'Retrieves what models are used for: the shares of each task in tokens and in spending.',
  description:
    'Computed from a sample of the requests to this installation, in complete UTC days. A figure that too few organizations contributed to is left out, and so are requests whose task is not recognized.',
  permission: 'datasets:read',
  rateLimit: publicDataLimit,
  query: z.object({ window: z.enum(['7d']).default('7d') }),
  errors: [404],
  response: z.strictObject({ data: taskClassification }),
  handle: async ({ gateway }) => {
    const minOrganizations = await resolveMinOrganizations(gateway)
    const { asOf, tasks, macros } = await readRecent(gateway, (db) =>
      readTaskShares(db, gateway.clock.now(), minOrganizations),
    )
    return {
      data: {
        as_of: asOf,
        classifications: tasks.map((task) => ({
          category_token_share: task.macroTokenShare,
          category_usage_share: task.macroUsageShare,
          display_name: taskNames[task.tag],
          macro_category: task.macro,
          models: task.models.map(({ id, tokenShare, usageShare }) => ({
            id,
            tag_token_share: tokenShare,
            tag_usage_share: usageShare,
          })),
          tag: task.tag,
          token_share: task.tokenShare,
          usage_share: task.usageShare,
        })),
        macro_categories: macros.map(({ macro, tokenShare, usageShare }) => ({
          key: macro,
          label: macroCategories[macro],
          token_share: tokenShare,
          usage_share: usageShare,
        })),
        window_days: taskWindowDays,
      },
    }
  },
})

export const datasetOperations = [getTaskClassification, getAppRankings, getDailyRankings, getSessionCost]
