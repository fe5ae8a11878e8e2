import type { SnapshotDeclaration } from './build.ts'

/** One model per line, so that a price change is a diff of one line. */
export function formatSnapshot({ models, ...head }: SnapshotDeclaration): string {
  const lines = models.map((model) => JSON.stringify(model)).join(',\n')
  return `${JSON.stringify(head).slice(0, -1)},"models":[\n${lines}\n]}\n`
}
