export type Awaitable<T> = T | Promise<T>

/** Joins the texts that are written for each item, one after the other; a promise only if one of them is. */
export function joinTexts<T>(items: readonly T[], write: (item: T) => Awaitable<string>): Awaitable<string> {
  let text = ''
  let count = 0
  for (const item of items) {
    const written = write(item)
    count++
    if (typeof written !== 'string') return joinRest(text, written, items.slice(count), write)
    text += written
  }
  return text
}

async function joinRest<T>(
  before: string,
  first: Promise<string>,
  rest: readonly T[],
  write: (item: T) => Awaitable<string>,
): Promise<string> {
  let text = before + (await first)
  for (const item of rest) text += await write(item)
  return text
}
