import { runInSlices } from '../../platform/time/time-slicer.ts'
import type { GenerationEvent } from './event.ts'

/** Encodes events one by one, so that a large batch does not block the event loop. */
export function encodeEach(
  events: readonly GenerationEvent[],
  encode: (event: GenerationEvent) => string,
): Promise<string[]> {
  return runInSlices(encodeInSteps(events, encode))
}

function* encodeInSteps(events: readonly GenerationEvent[], encode: (event: GenerationEvent) => string) {
  const encoded: string[] = []
  for (const event of events) {
    encoded.push(encode(event))
    yield
  }
  return encoded
}
