import { sql } from 'kysely'
import type { Figure } from '../../../analytics/datasets/figures.ts'
import type { Db } from '../../../platform/db/db.ts'

export interface App {
  id: number
  url: string
  slug: string
  title: string | null
}

const maxIdsPerQuery = 500

export async function findApps(db: Db, urls: readonly string[]): Promise<Map<string, App>> {
  const apps = new Map<string, App>()
  for (let at = 0; at < urls.length; at += maxIdsPerQuery) {
    const some = urls.slice(at, at + maxIdsPerQuery)
    for (const app of await db.selectFrom('dataset_apps').selectAll().where('url', 'in', some).execute())
      apps.set(app.url, app)
  }
  return apps
}

export interface SessionFilter {
  appSlug: string | undefined
  /** The ids of a model; undefined: all models. */
  models: readonly string[] | undefined
  turnRange: string | undefined
  minOrganizations: number
  limit: number
  offset: number
}

/** The groups with most sessions first. */
export async function listSessionFigures(db: Db, filter: SessionFilter): Promise<Figure[]> {
  const { appSlug, models, turnRange, minOrganizations, limit, offset } = filter
  const urls = appSlug === undefined ? undefined : await findUrls(db, appSlug)
  if (urls?.length === 0) return []
  const patterns = [
    urls?.map((url) => `${escapeLike(url)}\n%`),
    models?.map((model) => `%\n${escapeLike(model)}\n%`),
    turnRange === undefined ? undefined : [`%\n${escapeLike(turnRange)}`],
  ].filter((some) => some !== undefined)
  return db
    .selectFrom('dataset_figures')
    .selectAll()
    .where('kind', '=', 'session')
    .where('organizations', '>=', minOrganizations)
    .where((eb) =>
      eb.and(
        patterns.map((some) =>
          eb.or(some.map((pattern) => sql<boolean>`subject like ${pattern} escape '\\'`)),
        ),
      ),
    )
    .orderBy('requests', 'desc')
    .orderBy('subject')
    .limit(limit)
    .offset(offset)
    .execute()
}

async function findUrls(db: Db, slug: string): Promise<string[]> {
  const rows = await db.selectFrom('dataset_apps').select('url').where('slug', '=', slug).limit(10).execute()
  return rows.map(({ url }) => url)
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (character) => `\\${character}`)
}
