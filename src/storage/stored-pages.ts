import { Vault } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import { asObjects, type JsonObject } from '../platform/json/json-values.ts'
import { encodeJsonChunks, estimateJsonLength } from '../platform/json/long-json.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'

/** Items per page: few enough that a page of a listing opens two or three, many enough that encrypting adds little. */
const maxItemsPerPage = 100
const targetPageBytes = 64 * 1024

export interface EncryptedPage {
  first: number
  count: number
  items: string
}

/** Splits the items of a response into encrypted pages, with the size of their JSON. */
export async function encryptPages(
  vault: Vault,
  responseId: string,
  items: JsonObject[],
): Promise<{ pages: EncryptedPage[]; bytes: number }> {
  const pages: EncryptedPage[] = []
  let bytes = 0
  for (const { first, items: page } of splitIntoPages(items)) {
    const encrypted = await vault.encryptChunks(encodeJsonChunks(page), responseId)
    pages.push({ first, count: page.length, items: encrypted })
    bytes += Vault.plaintextBytes(encrypted)
    if (bytes > targetPageBytes) await yieldToEventLoop()
  }
  return { pages, bytes }
}

function* splitIntoPages(items: JsonObject[]): Generator<{ first: number; items: JsonObject[] }> {
  let [first, length] = [0, 0]
  for (const [position, item] of items.entries()) {
    length += estimateJsonLength(item, targetPageBytes)
    const end = position + 1
    if (end - first < maxItemsPerPage && length < targetPageBytes && end < items.length) continue
    yield { first, items: items.slice(first, end) }
    ;[first, length] = [end, 0]
  }
}

export function openPage(vault: Vault, responseId: string, items: string): JsonObject[] {
  return asObjects(JSON.parse(vault.decrypt(items, responseId)))
}

/** The page with the item at a position; undefined if there is none. */
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

/** The items in a range of positions (end exclusive); reads only the pages they are in. */
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
  for (const [index, page] of pages.entries()) {
    if (index > 0) await yieldToEventLoop()
    const pageItems = openPage(vault, responseId, page.items)
    for (const item of pageItems.slice(Math.max(0, from - page.first), to - page.first)) items.push(item)
  }
  return items
}
