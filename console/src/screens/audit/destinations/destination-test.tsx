import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { client } from '../../../api/client.ts'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { formatDuration } from '../../../format/number.ts'
import type { AuditDestination } from './queries.ts'

interface DestinationTestProps {
  destination: AuditDestination
  onClose: () => void
}

/** Sends an event that is not part of the audit log. */
export function DestinationTest({ destination: { id, name }, onClose }: DestinationTestProps) {
  const test = useMutation({
    mutationFn: () => client.POST('/audit/destinations/{id}/test', { params: { path: { id } } }),
  })
  const result = test.data?.data?.data
  return (
    <Modal opened onClose={onClose} title={`Test ${name}`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <Text size="sm">An event with the code audit.test is sent. It is not part of the audit log.</Text>
        {test.error !== null && <ErrorNotice error={test.error} />}
        {result && (
          <Alert
            role="status"
            color={result.delivered ? 'teal' : 'red'}
            title={result.delivered ? 'The test was accepted' : 'The test was not accepted'}
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {result.error !== null && `${result.error} `}After {formatDuration(result.duration_ms)}.
            </Text>
          </Alert>
        )}
        <Group justify="flex-end">
          <Button loading={test.isPending} onClick={() => test.mutate()}>
            Send the test
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
