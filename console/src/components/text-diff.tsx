import { Box, Text } from '@mantine/core'
import { type DiffLine, diffLines, foldLines } from './line-diff.ts'

const signs = { same: ' ', added: '+', removed: '−' }
const colors = {
  added: 'light-dark(var(--mantine-color-teal-0), rgb(32 201 151 / 18%))',
  removed: 'light-dark(var(--mantine-color-red-0), rgb(255 107 107 / 18%))',
}

/** Two texts as lines that were removed, added or kept. */
export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  return (
    <Box
      role="region"
      aria-label={label}
      tabIndex={0}
      ff="monospace"
      fz="xs"
      mah={480}
      style={{ overflow: 'auto', border: '1px solid var(--mantine-color-default-border)' }}
    >
      {[...foldLines(diffLines(before, after)).entries()].map(([key, line]) =>
        line === null ? (
          <Text key={key} size="xs" c="dimmed" px="xs">
            …
          </Text>
        ) : (
          <Line key={key} line={line} />
        ),
      )}
    </Box>
  )
}

function Line({ line: { kind, text } }: { line: DiffLine }) {
  const content = (
    <>
      <span aria-hidden="true">{signs[kind]} </span>
      {text || ' '}
    </>
  )
  const style = { whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', textDecoration: 'none' } as const
  if (kind === 'same') {
    return (
      <Box px="xs" style={style}>
        {content}
      </Box>
    )
  }
  return (
    <Box component={kind === 'added' ? 'ins' : 'del'} display="block" px="xs" bg={colors[kind]} style={style}>
      {content}
    </Box>
  )
}
