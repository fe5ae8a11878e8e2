import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { client } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Rule, ruleKinds } from './rule-kinds.ts'

/** Sends a test message to every address of a rule. */
export function RuleTest({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const { email, webhook } = rule.channels
  const addresses = [...email, ...(webhook ? [webhook.url] : [])]
  const test = useMutation({
    mutationFn: () => client.POST('/notifications/rules/{id}/test', { params: { path: { id: rule.id } } }),
  })
  const results = test.data?.data?.data
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Test: ${ruleKinds[rule.kind].label}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {addresses.length === 0
            ? 'This rule has no address: its notifications are in the list only. Add an address to send a test.'
            : `A message that says it is a test is sent to ${addresses.join(', ')}.`}
        </Text>
        {test.error !== null && <ErrorNotice error={test.error} />}
        {results?.map(({ channel, address, delivered, error }) => (
          <Alert
            key={`${channel} ${address}`}
            role="status"
            color={delivered ? 'teal' : 'red'}
            title={delivered ? 'Accepted' : 'Not accepted'}
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {address}
              {error !== null && `: ${error}`}
            </Text>
          </Alert>
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          {addresses.length > 0 && (
            <Button loading={test.isPending} onClick={() => test.mutate()}>
              Send the test
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}
