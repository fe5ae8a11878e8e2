import type { Gateway } from '../gateway.ts'
import { growingHex } from '../lib/ids.ts'
import type { Asked, Question } from './asked.ts'
import { keepsContent } from './content.ts'
import { expandPreset } from './preset.ts'
import { readWishes } from './wishes.ts'

export function newGenerationId(): string {
  return `gen-${growingHex()}`
}

/** The body with its preset, in our own form, and what is known of its sender. */
export async function readAsked(gateway: Gateway, question: Question): Promise<Asked> {
  const { caller, format, request } = question
  const startedAt = performance.now()
  const known = gateway.memory.standingOf(caller.key)
  const standing = known instanceof Promise ? await known : known
  const expanding = expandPreset(gateway, caller.organizationId, format.presets, question.body)
  const { body, presetId } = expanding instanceof Promise ? await expanding : expanding
  const id = question.id ?? newGenerationId()
  return {
    ...question,
    body,
    presetId,
    standing,
    call: format.reads.decodeRequest(body),
    wishes: readWishes(body, request.headers, standing.defaultModel),
    keepsContent: keepsContent(standing.logging, { id, keyId: caller.key.id, region: question.region }),
    id,
    at: gateway.clock.now(),
    startedAt,
  }
}
