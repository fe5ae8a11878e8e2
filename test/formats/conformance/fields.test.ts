import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { wireFormats } from '../../../src/formats/all.ts'
import { chatRequest } from '../../../src/formats/chat/schema.ts'
import { listUnimplementedFields } from '../../../src/formats/fields.ts'
import { toSnakeCase } from '../../../src/formats/gemini/field-names.ts'
import { geminiBody } from '../../../src/formats/gemini/schema.ts'
import { messagesRequest } from '../../../src/formats/messages/schema.ts'
import { responsesRequest } from '../../../src/formats/responses/schema.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { fieldTables } from './field-samples.ts'
import { createTarget, resolveTierTarget } from './targets.ts'

const schemas: Record<GenerateWireFormat, z.ZodType> = {
  chat: chatRequest,
  messages: messagesRequest,
  responses: responsesRequest,
  gemini: geminiBody,
}

/** The paths of all fields in a schema; fields of list items are under the name of the list. */
function listFields(schema: z.core.$ZodType, skip: ReadonlySet<string>, prefix = ''): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return listFields(schema.unwrap(), skip, prefix)
  if (schema instanceof z.ZodPipe) return listFields(schema.out, skip, prefix)
  if (schema instanceof z.ZodArray) return listFields(schema.element, skip, prefix)
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((option) => listFields(option, skip, prefix))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    return skip.has(path) ? [] : [path, ...listFields(inner as z.core.$ZodType, skip, path)]
  })
}

interface Sent {
  body: JsonObject
  dropped: string[]
  tier: string | null
}

function sendTo(client: GenerateWireFormat, upstream: GenerateWireFormat, body: JsonObject): Sent {
  const call = wireFormats[client].client.decodeRequest(body)
  const target = createTarget(upstream, resolveTierTarget(upstream, call))
  const request =
    client === upstream
      ? wireFormats[client].passthrough.passRequest(body, target)
      : wireFormats[upstream].upstream.encodeRequest(call, target)
  const dropped = [...request.dropped, ...listUnimplementedFields(body, request.body)]
  return { body: request.body, dropped, tier: target.tier }
}

/** Whether the upstream receives the same with and without the field, and the field or its parent is not reported. */
function isSilentlyLost(client: GenerateWireFormat, upstream: GenerateWireFormat, path: string): boolean {
  const { minimalBody, samples } = fieldTables[client]
  const { used, unused } = samples[path] ?? { used: {} }
  const sent = sendTo(client, upstream, { ...minimalBody, ...used })
  if (sent.dropped.some((name) => path.startsWith(`${name}.`))) return false
  return JSON.stringify(sent) === JSON.stringify(sendTo(client, upstream, { ...minimalBody, ...unused }))
}

/** Gemini's second spelling of a field, which is read by the same code. */
function isSnakeCase(path: string): boolean {
  return path.split('.').some((name) => /[a-z]_/.test(name) && name === toSnakeCase(name))
}

describe.each(generateWireFormats.map((name) => [name] as const))('R31 request fields of %s', (client) => {
  const { gatewayFields, samples } = fieldTables[client]
  const paths = Object.keys(samples)
  /** Whether a path has a sample, or its parent is sampled as a whole. */
  const isCovered = (path: string) => {
    const [top = ''] = path.split('.')
    return paths.includes(path) || (paths.includes(top) && !paths.some((name) => name.startsWith(`${top}.`)))
  }

  test('every field in the schema has a sample', () => {
    const known = listFields(schemas[client], new Set(gatewayFields))
    expect(known.length).toBeGreaterThan(20)
    const required =
      client === 'gemini' ? known.filter((path) => isCovered(path) || !isSnakeCase(path)) : known
    expect(required.filter((path) => !isCovered(path))).toEqual([])
  })

  test.each(generateWireFormats.map((name) => [name] as const))(
    'an upstream of %s receives it, or it is reported',
    (upstream) => {
      expect(paths.filter((path) => isSilentlyLost(client, upstream, path))).toEqual([])
    },
  )
})
