import { Badge, Group, Table, Text } from '@mantine/core'
import { Money } from '../../components/money.tsx'
import { formatShare } from '../../format/number.ts'
import { type CandidateRow, listCandidates, type Quote } from './compare.ts'

const shownRows = 50

interface CandidateTableProps {
  before: Quote | null
  after: Quote | null
  isChanged: boolean
}

/** Every endpoint with its rank, or why it is not used; what differs is marked. */
export function CandidateTable({ before, after, isChanged }: CandidateTableProps) {
  const rows = listCandidates(before, after)
  if (rows.length === 0) return <Text size="sm">No endpoint of this model is known.</Text>
  return (
    <>
      <Table.ScrollContainer minWidth={isChanged ? 460 : 300}>
        <Table fz="xs" verticalSpacing={6} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Endpoint</Table.Th>
              <Table.Th>Now</Table.Th>
              {isChanged && <Table.Th>With the change</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.slice(0, shownRows).map((row) => (
              <Row key={row.key} row={row} isChanged={isChanged} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {rows.length > shownRows && (
        <Text size="xs" c="dimmed">
          And {rows.length - shownRows} more that are not shown.
        </Text>
      )}
    </>
  )
}

const marked = 'light-dark(var(--mantine-color-indigo-0), rgb(76 110 245 / 15%))'

function Row({ row, isChanged }: { row: CandidateRow; isChanged: boolean }) {
  return (
    <Table.Tr
      style={{ overflowWrap: 'anywhere', verticalAlign: 'top' }}
      {...(isChanged && row.isDifferent && { bg: marked })}
    >
      <Table.Td>
        <Group gap={6}>
          <Text size="xs" fw={600}>
            {row.provider}
          </Text>
          {isChanged && row.isDifferent && (
            <Badge size="xs" color="indigo" variant="light" tt="none" miw="max-content">
              differs
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed">
          {row.model}
          <br />
          {row.tag}
        </Text>
      </Table.Td>
      <Table.Td>
        <SideCell side={row.before} />
      </Table.Td>
      {isChanged && (
        <Table.Td>
          <SideCell side={row.after} />
        </Table.Td>
      )}
    </Table.Tr>
  )
}

function SideCell({ side }: { side: CandidateRow['before'] }) {
  if (side === null) return <Text size="xs">no candidate</Text>
  if (side.excluded) {
    return (
      <Text size="xs">
        Not used: {side.excluded.detail} <span>({side.excluded.reason})</span>
      </Text>
    )
  }
  const { rank, reason, share, price, own_key } = side.available
  return (
    <>
      <Text size="xs" fw={600}>
        Rank {rank}
        {share !== undefined && `, first in ${formatShare(share)}`}
        {own_key && ', with your key'}
      </Text>
      <Text size="xs">{reason}</Text>
      <Text size="xs" component="div">
        expected <Money value={price.expected} />, at most <Money value={price.worst_case} />
      </Text>
    </>
  )
}
