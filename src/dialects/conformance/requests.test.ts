import { describe, expect, test } from 'bun:test'
import type { Call } from '../../call/call.ts'
import { type GenerateDialect, generateDialects } from '../../catalog/vocabulary.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { dialects } from '../all.ts'
import { carryRequest } from './carry.ts'
import { clientBodies } from './client-bodies.ts'
import { clientWords } from './client-words.ts'
import { requestDifferences, sameJson } from './compare-request.ts'
import { adaptations } from './losses.ts'
import { requestStories } from './request-stories.ts'

function adapted(upstream: GenerateDialect, story?: string): string[] {
  return adaptations
    .filter((entry) => entry.upstream === upstream && (story === undefined || entry.stories.includes(story)))
    .flatMap(({ differences }) => differences)
}

/** Nothing is lost without being named, and nothing is named that arrived. */
function expectHonest(carried: ReturnType<typeof carryRequest>, allowed: string[]): void {
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
    test.each(requestStories.map((story) => [story.name, story] as const))('%s', (name, story) => {
      const carried = carryRequest(story.call, upstream)
      expectHonest(carried, adapted(upstream, name))
      for (const difference of adapted(upstream, name)) {
        const declared = adaptations.filter(
          (entry) => entry.upstream === upstream && entry.differences.includes(difference),
        )
        const seen = declared.some(({ stories }) =>
          stories.some((other) => {
            const told = requestStories.find((entry) => entry.name === other)
            return told && carryRequest(told.call, upstream).differences.includes(difference)
          }),
        )
        expect({ difference, seen }).toEqual({ difference, seen: true })
      }
    })
  },
)

const pairs = generateDialects.flatMap((client) =>
  generateDialects.map((upstream) => [client, upstream] as const),
)

describe.each(pairs)('R31 R32 from a client of %s to an upstream of %s', (client, upstream) => {
  test('what the client can say arrives, or is named', () => {
    for (const { name, call } of requestStories) {
      const asked = dialects[client].client.decodeRequest(carryRequest(call, client).body)
      try {
        expectHonest(carryRequest(asked, upstream), adapted(upstream))
      } catch (error) {
        throw new Error(name, { cause: error })
      }
    }
  })

  test.each(Object.entries(clientBodies[client]))('%s', (_name, body) => {
    const asked = dialects[client].client.decodeRequest(body)
    expectHonest(carryRequest(asked, upstream), adapted(upstream))
  })
})

test('the table of adaptations names stories that exist', () => {
  const names = requestStories.map(({ name }) => name)
  for (const { stories } of adaptations) for (const story of stories) expect(names).toContain(story)
  expect(new Set(names).size).toBe(names.length)
})

/** Fields of a body that are about the transport, or say what is the default anyway. */
const silent = new Set(['model', 'stream', 'store', 'include', 'parallel_tool_calls'])

describe.each(generateDialects.map((name) => [name] as const))(
  'the comparison of requests of %s',
  (upstream) => {
    test('notices anything that is taken out of a body', () => {
      for (const { name, call } of requestStories) {
        const { body, differences, dropped } = carryRequest(call, upstream)
        // What arrives in other words differs already.
        if (differences.some((difference) => !dropped.includes(difference))) continue
        const whole = (key: string) => !silent.has(key) && !dropped.includes(key)
        for (const field of Object.keys(body).filter(whole)) {
          const { [field]: _, ...rest } = body
          const found = differencesIn(call, upstream, rest)
          expect({ name, field, noticed: !sameJson(found, differences) }).toEqual({
            name,
            field,
            noticed: true,
          })
        }
      }
    })
  },
)

function differencesIn(call: Call, upstream: GenerateDialect, body: JsonObject): string[] {
  try {
    return requestDifferences(call, dialects[upstream].client.decodeRequest(body))
  } catch {
    return ['refused']
  }
}

describe.each(generateDialects.map((name) => [name] as const))('the words of a client of %s', (client) => {
  test.each(Object.entries(clientWords[client]))('%s: say what the story says', (name, body) => {
    const story = requestStories.find((entry) => entry.name === name)
    if (!story) throw new Error(`there is no story ${name}`)
    expect(requestDifferences(story.call, dialects[client].client.decodeRequest(body))).toEqual([])
  })
})
