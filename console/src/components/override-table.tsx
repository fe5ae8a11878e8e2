import { Table, Text } from '@mantine/core'
import { overriddenValues } from './overridden-values.ts'

interface OverrideTableProps {
  /** The fields of the override. */
  fields: object
  /** The values without it; null if there are none. */
  base: object | null
}

/** What an override sets, beside the value without it. */
export function OverrideTable({ fields, base }: OverrideTableProps) {
  const values = overriddenValues(fields, base)
  if (values.length === 0) return null
  return (
    <Table.ScrollContainer minWidth={320}>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            <Table.Th>Now</Table.Th>
            <Table.Th>Without the edit</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {values.map(({ field, now, before }) => (
            <Table.Tr key={field}>
              <Table.Td>{field}</Table.Td>
              <Table.Td>
                <Value text={now} />
              </Table.Td>
              <Table.Td>
                <Value text={before} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Value({ text }: { text: string | null }) {
  return (
    <Text
      size="sm"
      {...(text === null && { c: 'dimmed' })}
      lineClamp={4}
      style={{ overflowWrap: 'anywhere' }}
    >
      {text ?? 'not set'}
    </Text>
  )
}
