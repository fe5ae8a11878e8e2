export type Awaitable<T> = T | Promise<T>

/** Joins the texts that are written for each item, one after the other; a promise only if one of them is. */
export function joinTexts<T>(items: Iterable<T>, write: (item: T) => Awaitable<string>): Awaitable<string> {
  const iterator = items[Symbol.iterator]()
  let text = ''
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    const written = write(next.value)
    if (typeof written !== 'string') return joinRest(text, written, iterator, write)
    text += written
  }
  return text
}

async function joinRest<T>(
  before: string,
  first: Promise<string>,
  iterator: Iterator<T>,
  write: (item: T) => Awaitable<string>,
): Promise<string> {
  let text = before + (await first)
  for (let next = iterator.next(); !next.done; next = iterator.next()) text += await write(next.value)
  return text
}
