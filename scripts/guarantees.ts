// Writes docs/guarantees.md: the guarantees, and the tests that prove them, found by the number in their title.
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'
import promises from '../docs/promises.json' with { type: 'json' }

export async function renderGuaranteesPage(): Promise<string> {
  const proofs = findProofs()
  const rows = Object.entries(promises).map(([number, promise]) => {
    const files = proofs.get(number)
    const proof = files
      ? [...files]
          .sort()
          .map((file) => `\`${file}\``)
          .join(', ')
      : 'not yet proven by a test'
    return `| ${number} | ${promise} | ${proof} |`
  })
  return `# What Headgate promises

Each promise is a statement a test can falsify. \`npm run guarantees\` generates this page: the last column lists the test files with the number in a test title, or says that there is none.

| | Promise | Proven in |
|---|---|---|
${rows.join('\n')}
`
}

function findProofs(): Map<string, Set<string>> {
  const proofs = new Map<string, Set<string>>()
  for (const file of new Glob('{src,test}/**/*.test.ts').scanSync('.')) {
    const titles = readFileSync(file, 'utf8').matchAll(
      /(?:test|describe)(?:\.concurrent)?(?:\.each\([\s\S]*?\))?\(\s*['"`]([^'"`]+)/g,
    )
    const parametrised = readFileSync(file, 'utf8').matchAll(/\]\)\(\s*['"`]([^'"`]+)/g)
    for (const [, title = ''] of [...titles, ...parametrised]) {
      for (const [number] of title.matchAll(/\b[RISE]\d{1,2}\b/g)) {
        proofs.set(number, (proofs.get(number) ?? new Set()).add(file))
      }
    }
  }
  return proofs
}

if (import.meta.main) await Bun.write('docs/guarantees.md', await renderGuaranteesPage())
