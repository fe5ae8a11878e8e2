import { expect, test } from 'bun:test'
import { listSamples } from './code.ts'

const body = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'It\'s "quoted"' }],
  temperature: 0,
  provider: { allow_fallbacks: false, only: [] },
}

const [curl, python, typescript] = listSamples(body, 'http://127.0.0.1:8080/api/v1')

test('a shell reads the command as it was written', () => {
  expect(curl?.code).toContain("curl -X POST 'http://127.0.0.1:8080/api/v1/chat/completions'")
  expect(curl?.code).toContain('$HEADGATE_KEY')
  expect(curl?.code).toContain(`It'\\''s`)
})

test('Python has its own literals, and unknown fields in extra_body', () => {
  expect(python?.code).toContain('    temperature=0,\n')
  expect(python?.code).toContain('            "content": "It\'s \\"quoted\\"",\n')
  expect(python?.code).toContain(
    '    extra_body={\n        "provider": {\n            "allow_fallbacks": False,\n            "only": [],\n        },\n    },\n',
  )
  expect(python?.code).toEndWith('print(completion.choices[0].message.content)')
})

test('a stream is read as one', () => {
  const [, streamedPython, streamedTypeScript] = listSamples({ ...body, stream: true }, 'http://host/v1')
  expect(streamedPython?.code).toContain('    stream=True,\n')
  expect(streamedPython?.code).toContain('for chunk in completion:')
  expect(streamedTypeScript?.code).toContain('for await (const chunk of completion)')
})

test('TypeScript parses, and sends the same body', () => {
  const code = typescript?.code ?? ''
  expect(() => new Bun.Transpiler({ loader: 'ts' }).transformSync(code)).not.toThrow()
  expect(code).toContain('  // @ts-expect-error: not declared by the library\n  provider: {')
  const sent = /create\(([\s\S]*)\)\nconsole/.exec(code)?.[1]
  expect(new Function(`return ${sent}`)()).toEqual(body)
})
