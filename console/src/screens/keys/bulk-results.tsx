import { Alert, Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useRefresh } from '../../api/use-refresh.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { downloadText } from '../../components/download.ts'
import { WarningIcon } from '../../components/icons.tsx'
import { formatCsv } from '../../format/csv.ts'
import { formatCount, formatPlural } from '../../format/number.ts'
import type { NewKey } from './new-key-secret.tsx'

export interface BulkResult {
  name: string
  /** Null if it was not created. */
  key: NewKey | null
  /** Why it was not created, or why its rules were not saved. */
  error: unknown
}

interface BulkResultsProps {
  results: BulkResult[]
  onClose: () => void
}

/** What became of each line. The secrets can be saved only now. */
export function BulkResults({ results, onClose }: BulkResultsProps) {
  const refresh = useRefresh()
  const [isStored, setStored] = useState(false)
  const created = results.flatMap(({ key }) => key ?? [])
  const failed = results.filter(({ error }) => error !== null).length
  const close = () => {
    void refresh('/keys', '/limits', '/guardrails')
    onClose()
  }
  return (
    <Modal
      opened
      onClose={close}
      title={`${formatCount(created.length)} of ${formatPlural(results.length, 'key')} created`}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        {failed > 0 && (
          <Alert color="red" icon={<WarningIcon />}>
            {formatPlural(failed, 'line')} failed. Correct them and try these again.
          </Alert>
        )}
        <DataTable
          columns={columns}
          rows={results.map((result, index) => ({ ...result, line: index + 1 }))}
          keyOf={({ line }) => String(line)}
          minWidth={360}
        />
        {created.length > 0 && (
          <>
            <Group justify="space-between">
              <Text size="sm">The secrets cannot be shown again.</Text>
              <Button variant="default" onClick={() => downloadText('keys.csv', toCsv(created))}>
                Download secrets as CSV
              </Button>
            </Group>
            <Checkbox
              label="I have stored the secrets"
              checked={isStored}
              onChange={(event) => setStored(event.currentTarget.checked)}
            />
          </>
        )}
        <Group justify="flex-end">
          <Button onClick={close} disabled={created.length > 0 && !isStored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function toCsv(keys: readonly NewKey[]): string {
  return formatCsv([
    ['name', 'hash', 'secret'],
    ...keys.map(({ name, hash, secret }) => [name, hash, secret]),
  ])
}

const columns: Column<BulkResult & { line: number }>[] = [
  { header: 'Line', isNumber: true, render: ({ line }) => line },
  { header: 'Name', breaksWords: true, render: ({ name }) => name },
  {
    header: 'Result',
    breaksWords: true,
    render: ({ key, error }) => (
      <Text size="sm" {...(error !== null && { c: 'red' })}>
        {key ? 'Created' : 'Not created'}
        {error instanceof Error && `. ${error.message}`}
      </Text>
    ),
  },
]
