import { Text } from '@mantine/core'
import { client } from '../../../api/client.ts'
import { TestDialog, TestOutcome } from '../../../components/test-dialog.tsx'
import { formatDuration } from '../../../format/number.ts'
import type { AuditDestination } from './queries.ts'

interface DestinationTestProps {
  destination: AuditDestination
  onClose: () => void
}

/** Sends an event that is not part of the audit log. */
export function DestinationTest({ destination: { id, name }, onClose }: DestinationTestProps) {
  return (
    <TestDialog
      title={`Test ${name}`}
      intro={
        <Text size="sm">An event with the code audit.test is sent. It is not part of the audit log.</Text>
      }
      action="Send the test"
      onTest={() => client.POST('/audit/destinations/{id}/test', { params: { path: { id } } })}
      onClose={onClose}
    >
      {({ delivered, error, duration_ms }) => (
        <TestOutcome isAccepted={delivered}>
          {error !== null && `${error} `}After {formatDuration(duration_ms)}.
        </TestOutcome>
      )}
    </TestDialog>
  )
}
