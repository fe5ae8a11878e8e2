import { expect, spyOn, test } from 'bun:test'
import type { ToolCallPart } from '../../formats/call/part.ts'
import { applyPatch } from './apply-patch.ts'
import type { ToolSetup } from './tool.ts'

test('S13 the operation of a call is parsed once, however often it is read', async () => {
  const instance = await applyPatch.create({}, {} as ToolSetup)
  const operation = { type: 'create_file', path: 'a.txt', diff: '+line\n'.repeat(1000) }
  const text = JSON.stringify({ operation })
  const parse = spyOn(JSON, 'parse')
  const buildCall = (): ToolCallPart => ({
    kind: 'tool-call',
    id: 'c1',
    name: 'apply_patch',
    arguments: text,
  })
  try {
    for (let turn = 0; turn < 3; turn++) {
      expect(instance.needsClient?.(buildCall())).toBe(true)
      expect(instance.toClientCall?.(buildCall())).toMatchObject({ value: { operation } })
    }
    expect(parse).toHaveBeenCalledTimes(1)
  } finally {
    parse.mockRestore()
  }
})
