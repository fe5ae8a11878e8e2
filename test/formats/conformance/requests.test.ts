import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import type { ModelCall } from '../../../src/formats/call/call.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { clientBodies } from './client-bodies.ts'
import { clientScenarioBodies } from './client-scenarios.ts'
import { compareRequests, isSameJson } from './compare-request.ts'
import { adaptations } from './losses.ts'
import { requestScenarios } from './request-scenarios.ts'
import { roundTripRequest } from './round-trip.ts'

function listAdaptations(upstream: GenerateWireFormat, scenario?: string): string[] {
  return adaptations
    .filter(
      (entry) =>
        entry.upstream === upstream && (scenario === undefined || entry.scenarios.includes(scenario)),
    )
    .flatMap(({ differences }) => differences)
}

/** Every loss is reported, and nothing is reported that arrived. */
function expectReported(outcome: ReturnType<typeof roundTripRequest>, allowed: string[]): void {
  const { differences, dropped } = outcome
  expect({
    unreportedLosses: differences.filter((name) => !dropped.includes(name) && !allowed.includes(name)),
  }).toEqual({
    unreportedLosses: [],
  })
  expect({ falselyReported: dropped.filter((name) => !differences.includes(name)) }).toEqual({
    falselyReported: [],
  })
}

describe.each(generateWireFormats.map((name) => [name] as const))(
  'R31 R32 requests to an upstream of %s',
  (upstream) => {
    test.each(requestScenarios.map((entry) => [entry.name, entry] as const))('%s', (name, scenario) => {
      const outcome = roundTripRequest(scenario.call, upstream)
      expectReported(outcome, listAdaptations(upstream, name))
      for (const difference of listAdaptations(upstream, name)) {
        const declared = adaptations.filter(
          (entry) => entry.upstream === upstream && entry.differences.includes(difference),
        )
        const isObserved = declared.some(({ scenarios }) =>
          scenarios.some((other) => {
            const adaptedScenario = requestScenarios.find((entry) => entry.name === other)
            return (
              adaptedScenario &&
              roundTripRequest(adaptedScenario.call, upstream).differences.includes(difference)
            )
          }),
        )
        expect({ difference, isObserved }).toEqual({ difference, isObserved: true })
      }
    })
  },
)

const pairs = generateWireFormats.flatMap((client) =>
  generateWireFormats.map((upstream) => [client, upstream] as const),
)

describe.each(pairs)('R31 R32 from a client of %s to an upstream of %s', (client, upstream) => {
  test('everything that the client sends arrives or is reported', () => {
    for (const { name, call } of requestScenarios) {
      const request = wireFormats[client].client.decodeRequest(roundTripRequest(call, client).body)
      try {
        expectReported(roundTripRequest(request, upstream), listAdaptations(upstream))
      } catch (error) {
        throw new Error(name, { cause: error })
      }
    }
  })

  test.each(Object.entries(clientBodies[client]))('%s', (_name, body) => {
    const request = wireFormats[client].client.decodeRequest(body)
    expectReported(roundTripRequest(request, upstream), listAdaptations(upstream))
  })
})

test('adaptations name existing scenarios', () => {
  const names = requestScenarios.map(({ name }) => name)
  for (const { scenarios } of adaptations) expect(names).toEqual(expect.arrayContaining(scenarios))
  expect(new Set(names).size).toBe(names.length)
})

/** Fields that only affect the transport, or equal the default. */
const ignoredFields = new Set(['model', 'stream', 'store', 'include', 'parallel_tool_calls'])

describe.each(generateWireFormats.map((name) => [name] as const))(
  'the comparison of requests of %s',
  (upstream) => {
    test('detects any removed field', () => {
      for (const { name, call } of requestScenarios) {
        const { body, differences, dropped } = roundTripRequest(call, upstream)
        // Adapted requests differ already.
        if (differences.some((difference) => !dropped.includes(difference))) continue
        const isSignificant = (key: string) => !ignoredFields.has(key) && !dropped.includes(key)
        for (const field of Object.keys(body).filter(isSignificant)) {
          const { [field]: _, ...rest } = body
          const remaining = differencesIn(call, upstream, rest)
          expect({ name, field, isDetected: !isSameJson(remaining, differences) }).toEqual({
            name,
            field,
            isDetected: true,
          })
        }
      }
    })
  },
)

function differencesIn(call: ModelCall, upstream: GenerateWireFormat, body: JsonObject): string[] {
  try {
    return compareRequests(call, wireFormats[upstream].client.decodeRequest(body))
  } catch {
    return ['rejected']
  }
}

describe.each(generateWireFormats.map((name) => [name] as const))('scenario bodies of %s', (client) => {
  test.each(Object.entries(clientScenarioBodies[client]))(
    '%s: the body matches the scenario',
    (name, body) => {
      const scenario = requestScenarios.find((entry) => entry.name === name)
      if (!scenario) throw new Error(`unknown scenario: ${name}`)
      expect(compareRequests(scenario.call, wireFormats[client].client.decodeRequest(body))).toEqual([])
    },
  )
})
