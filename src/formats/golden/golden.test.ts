import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { createContext, decodeFrames, parseFrames } from '../../../test/formats/conformance/round-trip.ts'
import { type Pricing, pricing } from '../../catalog/price.ts'
import { computeCost } from '../../ledger/cost.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { nanosFromUsd } from '../../platform/money/money.ts'
import { wireFormats } from '../all.ts'
import { collectReply } from '../call/event.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import type { GenerateWireFormat } from '../vocabulary.ts'

/** A recorded provider reply with the usage and cost worked out by hand. */
interface Golden {
  name: string
  /** The provider, API and model. */
  source: string
  wireFormat: GenerateWireFormat
  pricing: Pricing
  reply: JsonObject
  /** The events of the same reply, streamed. */
  stream?: JsonObject[]
  /** Buckets that are not empty. */
  usage: Partial<Usage>
  /** The provider's reported charge in USD. */
  reported?: string
  /** USD. */
  cost: { prompt: string; completion: string; total: string }
}

const at = Date.parse('2026-11-16T12:00:00Z')
const folder = import.meta.dir

function streamText(wireFormat: GenerateWireFormat, events: JsonObject[]): string {
  const isNamed = wireFormat === 'messages' || wireFormat === 'responses'
  const lines = events.map(
    (event) => `${isNamed ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
  )
  return lines.join('') + (wireFormat === 'chat' ? 'data: [DONE]\n\n' : '')
}

/** The usage of a reply on every path that reads it. */
function readUsage({ wireFormat, reply, stream }: Golden): Record<string, Usage | null> {
  const { upstream, passthrough } = wireFormats[wireFormat]
  const whole = collectReply(upstream.decodeReply(reply))
  const usages: Record<string, Usage | null> = { decoded: whole.usage }
  const summary = passthrough.summarizeReply?.(reply)
  if (summary) usages.summarized = summary.usage
  if (!stream) return usages
  const frames = parseFrames(streamText(wireFormat, stream))
  usages.streamed = collectReply(decodeFrames(wireFormat, frames)).usage
  const relay = passthrough.createRelay(createContext())
  for (const frame of frames) relay.pass(frame)
  usages.relayed = relay.summary.usage
  return usages
}

for (const file of [...new Glob('*.json').scanSync(folder)].sort()) {
  const cases: Golden[] = await Bun.file(`${folder}/${file}`).json()

  describe(`R9 the usage of ${file.replace('.json', '')}`, () => {
    test.each(cases.map((golden) => [golden.name, golden] as const))('%s', (_, golden) => {
      const reportedCost = golden.reported === undefined ? null : Number(golden.reported)
      const usage: Usage = { ...zeroUsage, ...golden.usage, reportedCost }
      for (const [path, read] of Object.entries(readUsage(golden))) {
        expect({ path, usage: read }).toEqual({ path, usage })
      }
      const { prompt, completion, total } = golden.cost
      expect(computeCost(usage, pricing.parse(golden.pricing), at)).toEqual({
        prompt: nanosFromUsd(prompt)!,
        completion: nanosFromUsd(completion)!,
        total: nanosFromUsd(total)!,
      })
    })
  })
}
