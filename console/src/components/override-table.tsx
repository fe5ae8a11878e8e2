import { Table, Text } from '@mantine/core'
import { overriddenValues } from './overridden-values.ts'
import { Price } from './price.tsx'

interface OverrideTableProps {
  /** The fields of the override. */
  fields: object
  /** The values without it; null if there are none. */
  base: object | null
}

/** Shows the values of an override, beside those without it. */
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
              <Table.Td>{priceLabels[field] ?? field}</Table.Td>
              <Table.Td>
                <Value field={field} text={now} />
              </Table.Td>
              <Table.Td>
                <Value field={field} text={before} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

const priceLabels: Record<string, string> = {
  'pricing.prompt': 'Input price, per million',
  'pricing.completion': 'Output price, per million',
  'pricing.input_cache_read': 'Cache read, per million',
  'pricing.input_cache_write': 'Cache write, per million',
}

function Value({ field, text }: { field: string; text: string | null }) {
  if (text === null)
    return (
      <Text size="sm" c="dimmed">
        not set
      </Text>
    )
  if (priceLabels[field]) return <Price value={text} />
  return (
    <Text size="sm" lineClamp={4} style={{ overflowWrap: 'anywhere' }}>
      {text}
    </Text>
  )
}
