import type { Db } from '../db/db.ts'
import { jsonLength, jsonPieces } from '../lib/long-json.ts'
import { type JsonObject, objectsOf } from '../lib/loose.ts'
import { Vault } from '../lib/secret.ts'
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
  let bytes = 0
  for (const { first, items: page } of pagesOf(items)) {
    const sealed = await vault.sealPieces(jsonPieces(page), responseId)
    pages.push({ first, count: page.length, items: sealed })
    bytes += Vault.bytesIn(sealed)
    if (bytes > fullBytes) await nextTurn()
  }
  return { pages, bytes }
}

function* pagesOf(items: JsonObject[]): Generator<{ first: number; items: JsonObject[] }> {
  let [first, length] = [0, 0]
  for (const [position, item] of items.entries()) {
    length += jsonLength(item)
    const end = position + 1
    if (end - first < mostItems && length < fullBytes && end < items.length) continue
    yield { first, items: items.slice(first, end) }
    ;[first, length] = [end, 0]
  }
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
