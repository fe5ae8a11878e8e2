import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  type Lab,
  modelOf,
  openLab,
  replyOf,
  scenarios,
  type TextWireFormat,
  textWireFormats,
} from '../clients/lab.ts'
import { openScratchHome, programTimeoutMs, runProgram, type ScratchHome } from './scratch-home.ts'

/** Toolchains that scripts/test-long.mjs installed and built; the rest is skipped. */
const { HEADGATE_TEST_PYTHON: python, HEADGATE_TEST_GO: go, HEADGATE_TEST_RUST: rust } = process.env

interface Program {
  name: string
  command: string[]
}

const pythonPrograms: Program[] = python
  ? [
      { name: 'openai of Python', command: [python, join(import.meta.dir, 'python/openai_client.py')] },
      { name: 'anthropic of Python', command: [python, join(import.meta.dir, 'python/anthropic_client.py')] },
      { name: 'google-genai of Python', command: [python, join(import.meta.dir, 'python/google_client.py')] },
    ]
  : []
const goPrograms: Program[] = go
  ? [
      { name: 'openai-go', command: [join(go, 'official')] },
      { name: 'sashabaranov/go-openai of Go', command: [join(go, 'community')] },
    ]
  : []
const rustPrograms: Program[] = rust ? [{ name: 'async-openai of Rust', command: [rust] }] : []
const programs = [...pythonPrograms, ...goPrograms, ...rustPrograms]

let lab: Lab
let home: ScratchHome

/** The upstream calls the offered tools until it gets their results. */
function scriptToolCalls(wireFormat: TextWireFormat): void {
  lab.upstream.setDefault((request) => {
    const isCalling = request.json?.tools !== undefined && !request.text.includes('It is snowing in')
    const source = replyOf(wireFormat, isCalling ? scenarios.toolCalls : scenarios.text)
    return typeof source === 'function' ? source(request) : source
  })
}

async function expectSuccess(command: string[], model: string): Promise<void> {
  const { code, output, errors } = await runProgram(home, command, {
    HEADGATE_URL: lab.url,
    HEADGATE_KEY: lab.key,
    HEADGATE_POOR_KEY: lab.poorKey,
    HEADGATE_MODEL: model,
    HEADGATE_REPLY: scenarios.text.text,
    PYTHONDONTWRITEBYTECODE: '1',
  })
  expect({ code, text: code === 0 ? '' : output + errors }).toEqual({ code: 0, text: '' })
  expect(home.blockedRequests).toEqual([])
}

if (programs.length > 0) {
  beforeAll(async () => {
    lab = await openLab()
    home = await openScratchHome()
  })
  afterAll(async () => {
    await lab.server.stop()
    await lab.upstream.stop()
    home.close()
  })

  describe.each(programs)('the client $name does what its documentation shows', ({ command }) => {
    test.each(textWireFormats)(
      'over an upstream of format %s',
      async (wireFormat) => {
        scriptToolCalls(wireFormat)
        const before = lab.upstream.requests.length
        await expectSuccess(command, modelOf(wireFormat))
        const bodies = lab.upstream.requests.slice(before).map(({ text }) => text)
        expect(bodies.some((text) => text.includes('in Oslo.') && text.includes('in 京都.'))).toBe(true)
      },
      programTimeoutMs + 10_000,
    )
  })
}

if (python) {
  test(
    'the client openai of Python makes embeddings, images, audio, files and moderations',
    () => expectSuccess([python, join(import.meta.dir, 'python/openai_media.py')], 'sandbox/echo'),
    programTimeoutMs + 10_000,
  )
}
