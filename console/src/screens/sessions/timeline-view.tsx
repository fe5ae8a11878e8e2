import { Box, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Money } from '../../components/money.tsx'
import { rememberRequestList } from '../../components/request-list.ts'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'
import type { TimelineRow } from './timeline.ts'

const columns = 'minmax(180px, 2fr) minmax(80px, 3fr) 80px 80px 80px'

const barColors = {
  request: 'var(--mantine-primary-color-filled)',
  nested: 'var(--mantine-color-teal-filled)',
  tool: 'var(--mantine-color-gray-filled)',
  plugin: 'var(--mantine-color-gray-filled)',
} as const

const kindNames = { request: 'request', nested: 'nested request', tool: 'tool', plugin: 'plugin' } as const

/** The rows of a session on one scale of time. */
export function TimelineView({ rows }: { rows: readonly TimelineRow[] }) {
  return (
    <Box style={{ overflowX: 'auto' }} role="region" aria-label="Rows of the timeline" tabIndex={0}>
      <Box role="table" aria-label="Timeline" style={{ minWidth: 560 }}>
        <Box role="row" style={rowStyle}>
          {['What', 'When', 'Tokens', 'Cost', 'Duration'].map((label, index) => (
            <Text
              key={label}
              role="columnheader"
              size="xs"
              c="dimmed"
              {...(index > 1 && { ta: 'right' as const })}
            >
              {label}
            </Text>
          ))}
        </Box>
        {rows.map((row) => (
          <Row
            key={row.key}
            row={row}
            onOpen={(id) =>
              rememberRequestList(
                rows.flatMap(({ requestId }) => requestId ?? []),
                id,
              )
            }
          />
        ))}
      </Box>
    </Box>
  )
}

function Row({ row, onOpen }: { row: TimelineRow; onOpen: (requestId: string) => void }) {
  const { depth, kind, requestId, label, status, tokens, cost, duration } = row
  return (
    <Box role="row" style={{ ...rowStyle, borderTop: '1px solid var(--mantine-color-default-border)' }}>
      <Box role="cell" pl={depth * 20} style={{ minWidth: 0 }}>
        <Group gap={6} wrap="nowrap">
          <Text size="sm" component="div" truncate>
            {requestId === null ? (
              label
            ) : (
              <TextLink to="/requests/$id" params={{ id: requestId }} onClick={() => onOpen(requestId)}>
                {label}
              </TextLink>
            )}
          </Text>
          {kind !== 'request' && (
            <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
              {kindNames[kind]}
            </Text>
          )}
          {status !== null && status !== 'completed' && <StatusBadge status={status} />}
        </Group>
      </Box>
      <Box role="cell">
        <Bar row={row} />
      </Box>
      <Amount>{tokens === null ? '–' : formatCount(tokens)}</Amount>
      <Amount>
        <Money value={cost} />
      </Amount>
      <Amount>{formatDuration(duration)}</Amount>
    </Box>
  )
}

function Bar({ row: { left, width, kind, status } }: { row: TimelineRow }) {
  if (left === null) return null
  const isFailed = status === 'failed' || status === 'refused'
  return (
    <Box h={10} pos="relative" style={{ background: 'var(--mantine-color-default-hover)', borderRadius: 3 }}>
      <Box
        h={10}
        pos="absolute"
        style={{
          left: `${left}%`,
          width: `${width}%`,
          borderRadius: 3,
          background: isFailed ? 'var(--mantine-color-red-filled)' : barColors[kind],
        }}
      />
    </Box>
  )
}

function Amount({ children }: { children: ReactNode }) {
  return (
    <Text role="cell" size="sm" ta="right" component="div" style={{ fontVariantNumeric: 'tabular-nums' }}>
      {children}
    </Text>
  )
}

const rowStyle = {
  display: 'grid',
  gridTemplateColumns: columns,
  gap: 12,
  alignItems: 'center',
  padding: '6px 0',
} as const
