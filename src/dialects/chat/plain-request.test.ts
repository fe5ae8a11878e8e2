import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isPlainRequest } from './plain-request.ts'
import { chatRequest } from './schema.ts'

const anything = fc.oneof(
  fc.constantFrom<unknown>('', 'm', 0, 1, 1.5, 2, 3, -1, Number.NaN, true, null, [], {}),
  fc.double(),
  fc.integer(),
)
/** Mostly valid, so that whole bodies often are. */
const mostlyValid = (valid: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: anything })

const message = fc.record({
  role: mostlyValid(fc.constantFrom('system', 'user', 'assistant', 'developer', 'tool')),
  content: mostlyValid(fc.string()),
})
const bodies = fc.record(
  {
    messages: mostlyValid(fc.array(message, { minLength: 1, maxLength: 3 })),
    model: mostlyValid(fc.constant('a/b')),
    stream: mostlyValid(fc.boolean()),
    temperature: mostlyValid(fc.double({ min: 0, max: 2, noNaN: true })),
    top_p: mostlyValid(fc.double({ min: 0, max: 1, noNaN: true })),
    max_tokens: mostlyValid(fc.integer({ min: 1 })),
    max_completion_tokens: mostlyValid(fc.integer({ min: 1 })),
    user: mostlyValid(fc.string()),
  },
  { requiredKeys: ['messages'] },
)

test('the schema accepts a plain request and leaves it unchanged', () => {
  let plain = 0
  fc.assert(
    fc.property(bodies, (body) => {
      if (!isPlainRequest(body)) return
      plain++
      expect(chatRequest.parse(body) as unknown).toEqual(body)
    }),
    { numRuns: 3000 },
  )
  expect(plain).toBeGreaterThan(300)
})

test('a body with any other field is validated by the schema', () => {
  const body = { model: 'a/b', messages: [{ role: 'user', content: 'x' }] }
  expect(isPlainRequest(body)).toBe(true)
  for (const extra of [{ tools: [] }, { provider: {} }, { n: 1 }, { input: 'x' }, { temperature: 3 }]) {
    expect(isPlainRequest({ ...body, ...extra })).toBe(false)
  }
})
