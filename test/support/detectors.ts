import { applyTextEdits } from '../../src/formats/call/json-text.ts'
import { type Detector, mergeSpans } from '../../src/governance/filters/detector.ts'
import { findInPlain, plainCharacters } from '../../src/governance/filters/plain-text.ts'
import { measureCpuTime } from './cpu-time.ts'

/** The text with what a detector finds replaced by its label. */
export function redactWith(find: Detector, text: string): string {
  return applyTextEdits(text, mergeSpans(findInPlain(find, plainCharacters(text))))
}

/** Finds the texts that a detector recognizes. */
export function findTexts(find: Detector, text: string): string[] {
  return mergeSpans(findInPlain(find, plainCharacters(text))).map(({ start, end }) => text.slice(start, end))
}

/** Measures how many times longer twice the text takes; CPU time, so that other load does not count. */
export function measureGrowth(find: Detector, unit: string, length: number): number {
  const [once, twice] = [length, 2 * length].map((size) => {
    const text = unit.repeat(Math.ceil(size / unit.length))
    return Math.min(...Array.from({ length: 5 }, () => measureCpuTime(() => find(text))))
  })
  // Below this the clock is too coarse.
  const least = 0.5
  return Math.max(twice ?? 0, least) / Math.max(once ?? 0, least)
}
