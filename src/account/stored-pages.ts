import type { Db } from '../db/db.ts'
import { type JsonObject, objectsOf } from '../lib/loose.ts'
import type { Vault } from '../lib/secret.ts'
import { nextTurn } from '../lib/turns.ts'

/** Few enough that a page of a listing opens two or three, many enough that sealing adds little. */
const mostItems = 100
const fullBytes = 64 * 1024

export interface SealedPage {
  first: number
  count: number
  items: string
}

/** The items of a response in pages, sealed for its row, with the bytes of their JSON. */
export async function sealPages(
  vault: Vault,
  responseId: string,
  items: JsonObject[],
): Promise<{ pages: SealedPage[]; bytes: number }> {
  const pages: SealedPage[] = []
  let [page, pageBytes, bytes]: [string[], number, number] = [[], 0, 0]
  for (const [position, item] of items.entries()) {
    const json = JSON.stringify(item)
    page.push(json)
    pageBytes += Buffer.byteLength(json)
    if (page.length < mostItems && pageBytes < fullBytes && position < items.length - 1) continue
    const first = position - page.length + 1
    pages.push({ first, count: page.length, items: vault.seal(`[${page.join(',')}]`, responseId) })
    bytes += pageBytes
    if (bytes > fullBytes) await nextTurn()
    ;[page, pageBytes] = [[], 0]
  }
  return { pages, bytes }
}

/** The items of a page as they were. */
export function openPage(vault: Vault, responseId: string, items: string): JsonObject[] {
  return objectsOf(JSON.parse(vault.open(items, responseId)))
}

/** The page that has the item at a position; undefined when there is none. */
export async function readPage(
  { db, vault }: { db: Db; vault: Vault },
  responseId: string,
  position: number,
): Promise<{ first: number; items: JsonObject[]; bytes: number } | undefined> {
  const page = await db
    .selectFrom('stored_pages')
    .select(['first', 'items'])
    .where('response_id', '=', responseId)
    .where('first', '<=', position)
    .orderBy('first', 'desc')
    .limit(1)
    .executeTakeFirst()
  return (
    page && {
      first: page.first,
      items: openPage(vault, responseId, page.items),
      bytes: page.items.length,
    }
  )
}

/** The items from one position to before another; the pages they are in, and no others, are read. */
export async function readItems(
  { db, vault }: { db: Db; vault: Vault },
  responseId: string,
  from: number,
  to: number,
): Promise<JsonObject[]> {
  const pages = await db
    .selectFrom('stored_pages')
    .select(['first', 'items'])
    .where('response_id', '=', responseId)
    .where('first', '<', to)
    .where((eb) => eb(eb('first', '+', eb.ref('count')), '>', from))
    .orderBy('first')
    .execute()
  const items: JsonObject[] = []
  for (const [place, page] of pages.entries()) {
    if (place > 0) await nextTurn()
    const opened = openPage(vault, responseId, page.items)
    for (const item of opened.slice(Math.max(0, from - page.first), to - page.first)) items.push(item)
  }
  return items
}
