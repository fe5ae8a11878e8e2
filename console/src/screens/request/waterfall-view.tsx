import { Box, Group, Stack, Text } from '@mantine/core'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatDuration } from '../../format/number.ts'
import type { Bar, Waterfall } from './waterfall.ts'

const barColors: Record<Bar['kind'], string> = {
  stage: 'var(--mantine-primary-color-filled)',
  success: 'var(--mantine-color-teal-filled)',
  failure: 'var(--mantine-color-red-filled)',
  tool: 'var(--mantine-color-gray-filled)',
  nested: 'var(--mantine-color-orange-filled)',
}

/** What happened when, from the arrival of the request to the end of its reply. */
export function WaterfallView({ waterfall: { bars, total } }: { waterfall: Waterfall }) {
  if (bars.length === 0) return null
  const marks = [0, total / 2, total]
  return (
    <Panel title="Timeline">
      <Stack component="ol" gap="xs" m={0} p={0} aria-label="Timeline" style={{ listStyle: 'none' }}>
        {bars.map((bar) => (
          <li key={bar.key}>
            <Row bar={bar} />
          </li>
        ))}
      </Stack>
      <Group justify="space-between" aria-hidden="true">
        {marks.map((mark) => (
          <Text key={mark} size="xs" c="dimmed">
            {formatDuration(mark)}
          </Text>
        ))}
      </Group>
    </Panel>
  )
}

function Row({ bar: { label, detail, left, width, duration, kind, requestId } }: { bar: Bar }) {
  return (
    <>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
          {requestId === null ? (
            label
          ) : (
            <TextLink to="/requests/$id" params={{ id: requestId }}>
              {label}
            </TextLink>
          )}{' '}
          <Text span size="xs" c="dimmed">
            {detail}
            {left === null && `${detail === '' ? '' : ', '}start not recorded`}
          </Text>
        </Text>
        <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
          {duration === null ? '–' : formatDuration(duration)}
        </Text>
      </Group>
      {left !== null && (
        <Box h={8} style={{ background: 'var(--mantine-color-default-border)', borderRadius: 4 }}>
          <Box
            h={8}
            ml={`${left}%`}
            w={`${width}%`}
            style={{ background: barColors[kind], borderRadius: 4 }}
          />
        </Box>
      )}
    </>
  )
}
