import { describe, expect, test } from 'bun:test'
import type { ModelCall } from '../../call/call.ts'
import { type GenerateDialect, generateDialects } from '../../catalogue/vocabulary.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { dialects } from '../all.ts'
import { clientBodies } from './client-bodies.ts'
import { clientScenarioBodies } from './client-scenarios.ts'
import { compareRequests, isSameJson } from './compare-request.ts'
import { adaptations } from './losses.ts'
import { requestScenarios } from './request-scenarios.ts'
import { roundTripRequest } from './round-trip.ts'

function adapted(upstream: GenerateDialect, story?: string): string[] {
  return adaptations
    .filter(
      (entry) => entry.upstream === upstream && (story === undefined || entry.scenarios.includes(story)),
    )
    .flatMap(({ differences }) => differences)
}

/** Nothing is lost without being named, and nothing is named that arrived. */
function expectHonest(carried: ReturnType<typeof roundTripRequest>, allowed: string[]): void {
  const { differences, dropped } = carried
  expect({
    lostSilently: differences.filter((name) => !dropped.includes(name) && !allowed.includes(name)),
  }).toEqual({
    lostSilently: [],
  })
  expect({ namedButThere: dropped.filter((name) => !differences.includes(name)) }).toEqual({
    namedButThere: [],
  })
}

describe.each(generateDialects.map((name) => [name] as const))(
  'R31 R32 requests to an upstream of %s',
  (upstream) => {
    test.each(requestScenarios.map((story) => [story.name, story] as const))('%s', (name, story) => {
      const carried = roundTripRequest(story.call, upstream)
      expectHonest(carried, adapted(upstream, name))
      for (const difference of adapted(upstream, name)) {
        const declared = adaptations.filter(
          (entry) => entry.upstream === upstream && entry.differences.includes(difference),
        )
        const summary = declared.some(({ scenarios }) =>
          scenarios.some((other) => {
            const told = requestScenarios.find((entry) => entry.name === other)
            return told && roundTripRequest(told.call, upstream).differences.includes(difference)
          }),
        )
        expect({ difference, seen: summary }).toEqual({ difference, seen: true })
      }
    })
  },
)

const pairs = generateDialects.flatMap((client) =>
  generateDialects.map((upstream) => [client, upstream] as const),
)

describe.each(pairs)('R31 R32 from a client of %s to an upstream of %s', (client, upstream) => {
  test('what the client can say arrives, or is named', () => {
    for (const { name, call } of requestScenarios) {
      const request = dialects[client].client.decodeRequest(roundTripRequest(call, client).body)
      try {
        expectHonest(roundTripRequest(request, upstream), adapted(upstream))
      } catch (error) {
        throw new Error(name, { cause: error })
      }
    }
  })

  test.each(Object.entries(clientBodies[client]))('%s', (_name, body) => {
    const request = dialects[client].client.decodeRequest(body)
    expectHonest(roundTripRequest(request, upstream), adapted(upstream))
  })
})

test('the table of adaptations names stories that exist', () => {
  const names = requestScenarios.map(({ name }) => name)
  for (const { scenarios } of adaptations) for (const story of scenarios) expect(names).toContain(story)
  expect(new Set(names).size).toBe(names.length)
})

/** Fields of a body that are about the transport, or say what is the default anyway. */
const silent = new Set(['model', 'stream', 'store', 'include', 'parallel_tool_calls'])

describe.each(generateDialects.map((name) => [name] as const))(
  'the comparison of requests of %s',
  (upstream) => {
    test('notices anything that is taken out of a body', () => {
      for (const { name, call } of requestScenarios) {
        const { body, differences, dropped } = roundTripRequest(call, upstream)
        // What arrives in other words differs already.
        if (differences.some((difference) => !dropped.includes(difference))) continue
        const whole = (key: string) => !silent.has(key) && !dropped.includes(key)
        for (const field of Object.keys(body).filter(whole)) {
          const { [field]: _, ...rest } = body
          const found = differencesIn(call, upstream, rest)
          expect({ name, field, noticed: !isSameJson(found, differences) }).toEqual({
            name,
            field,
            noticed: true,
          })
        }
      }
    })
  },
)

function differencesIn(call: ModelCall, upstream: GenerateDialect, body: JsonObject): string[] {
  try {
    return compareRequests(call, dialects[upstream].client.decodeRequest(body))
  } catch {
    return ['refused']
  }
}

describe.each(generateDialects.map((name) => [name] as const))('the words of a client of %s', (client) => {
  test.each(Object.entries(clientScenarioBodies[client]))('%s: say what the story says', (name, body) => {
    const story = requestScenarios.find((entry) => entry.name === name)
    if (!story) throw new Error(`there is no story ${name}`)
    expect(compareRequests(story.call, dialects[client].client.decodeRequest(body))).toEqual([])
  })
})
