import { expect, test } from 'bun:test'
import { Glob } from 'bun'

const folder = '.github/workflows'

test('actions are pinned by commit, with the version beside it', async () => {
  const uses: string[] = []
  for (const file of new Glob('*.yml').scanSync({ cwd: folder, dot: true })) {
    const text = await Bun.file(`${folder}/${file}`).text()
    uses.push(...[...text.matchAll(/\buses: (.+)$/gm)].map(([, action = '']) => action))
  }
  expect(uses.length).toBeGreaterThan(3)
  for (const action of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})
