import { runInSlices } from '../time/time-slicer.ts'
import { type JsonBounds, JsonCounter, maxDepth } from './json-counter.ts'
import { isShallow } from './json-size.ts'

/** A text this short is parsed within milliseconds, whatever it holds. */
const minCountedLength = 128 * 1024

/** Counted within a millisecond. */
const sliceLength = 128 * 1024

/** Combinations of names of the objects in one text: far more than any API has; parsed within 50 ms. */
export const maxShapes = 50_000

/**
 * Throws a `JsonError` if a text from outside is nested too deeply or has more values than `maxValues`. Comes before
 * parsing, which cannot be interrupted, and takes many times the memory of the text.
 */
export function assertJsonBounds(text: string, maxValues: number): void {
  const counter = chooseCounter(text, maxValues)
  if (counter) for (const _ of countSlices(text, counter));
}

/** The same for a text of many megabytes: other requests get their turns. */
export async function assertJsonBoundsInSlices(text: string, maxValues: number): Promise<void> {
  const counter = chooseCounter(text, maxValues)
  if (counter) await runInSlices(countSlices(text, counter))
}

/** Null for a text that is too short to exceed its bounds. */
function chooseCounter(text: string, maxValues: number): JsonCounter | null {
  if (text.length > Math.min(minCountedLength, maxValues)) return new JsonCounter(boundsOf(maxValues))
  // Every bracket of valid JSON is closed.
  return text.length <= 2 * maxDepth || isShallow(text) ? null : new JsonCounter()
}

function boundsOf(values: number): JsonBounds {
  return { values, shapes: maxShapes }
}

function* countSlices(text: string, counter: JsonCounter): Generator<void> {
  for (let at = 0; at < text.length; at += sliceLength) {
    counter.add(text.slice(at, at + sliceLength))
    yield
  }
}
