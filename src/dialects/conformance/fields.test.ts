import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { dialects } from '../all.ts'
import { chatRequest } from '../chat/schema.ts'
import { listUnimplementedFields } from '../fields.ts'
import { toSnakeCase } from '../gemini/field-names.ts'
import { geminiBody } from '../gemini/schema.ts'
import { messagesRequest } from '../messages/schema.ts'
import { responsesRequest } from '../responses/schema.ts'
import { fieldTables } from './field-samples.ts'
import { createTarget, resolveTierTarget } from './targets.ts'

const schemas: Record<GenerateDialect, z.ZodType> = {
  chat: chatRequest,
  messages: messagesRequest,
  responses: responsesRequest,
  gemini: geminiBody,
}

/** Every field a schema knows, by its path; entries of lists go by the name of the list. */
function fieldsOf(schema: z.core.$ZodType, skip: ReadonlySet<string>, prefix = ''): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return fieldsOf(schema.unwrap(), skip, prefix)
  if (schema instanceof z.ZodPipe) return fieldsOf(schema.out, skip, prefix)
  if (schema instanceof z.ZodArray) return fieldsOf(schema.element, skip, prefix)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsOf(option, skip, prefix))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    return skip.has(path) ? [] : [path, ...fieldsOf(inner as z.core.$ZodType, skip, path)]
  })
}

interface Sent {
  body: JsonObject
  dropped: string[]
  tier: string | null
}

function sentTo(client: GenerateDialect, upstream: GenerateDialect, body: JsonObject): Sent {
  const call = dialects[client].client.decodeRequest(body)
  const target = createTarget(upstream, resolveTierTarget(upstream, call))
  const request =
    client === upstream
      ? dialects[client].passthrough.passRequest(body, target)
      : dialects[upstream].upstream.encodeRequest(call, target)
  const dropped = [...request.dropped, ...listUnimplementedFields(body, request.body)]
  return { body: request.body, dropped, tier: target.tier }
}

/** Nothing that is sent or named tells a request with the field from one without; a name may be that of the whole. */
function isSilentlyLost(client: GenerateDialect, upstream: GenerateDialect, path: string): boolean {
  const { minimalBody, samples } = fieldTables[client]
  const { used, unused } = samples[path] ?? { used: {} }
  const sent = sentTo(client, upstream, { ...minimalBody, ...used })
  if (sent.dropped.some((name) => path.startsWith(`${name}.`))) return false
  return JSON.stringify(sent) === JSON.stringify(sentTo(client, upstream, { ...minimalBody, ...unused }))
}

/** The second spelling of a field of Gemini, which is read by the same code. */
function isSnake(path: string): boolean {
  return path.split('.').some((name) => /[a-z]_/.test(name) && name === toSnakeCase(name))
}

describe.each(generateDialects.map((name) => [name] as const))(
  'R31 the fields of a request of %s',
  (client) => {
    const { gatewayFields, samples } = fieldTables[client]
    const paths = Object.keys(samples)
    /** Sampled as a whole. */
    const isCovered = (path: string) => {
      const [top = ''] = path.split('.')
      return (
        paths.includes(path) || (paths.includes(top) && !paths.some((name) => name.startsWith(`${top}.`)))
      )
    }

    test('each one the schema knows has a sample', () => {
      const known = fieldsOf(schemas[client], new Set(gatewayFields))
      expect(known.length).toBeGreaterThan(20)
      const wanted = client === 'gemini' ? known.filter((path) => isCovered(path) || !isSnake(path)) : known
      expect(wanted.filter((path) => !isCovered(path))).toEqual([])
    })

    test.each(generateDialects.map((name) => [name] as const))(
      'an upstream of %s is told, or it is named',
      (upstream) => {
        expect(paths.filter((path) => isSilentlyLost(client, upstream, path))).toEqual([])
      },
    )
  },
)
