import type { SnapshotDeclaration } from './build.ts'

/** One model a line, so that a change of price is a change of one line. */
export function formatSnapshot({ models, ...head }: SnapshotDeclaration): string {
  const lines = models.map((model) => JSON.stringify(model)).join(',\n')
  return `${JSON.stringify(head).slice(0, -1)},"models":[\n${lines}\n]}\n`
}
