import { Text } from '@mantine/core'
import { client } from '../../api/client.ts'
import { TestDialog, TestOutcome } from '../../components/test-dialog.tsx'
import { type Rule, ruleKinds } from './rule-kinds.ts'

/** Sends a test message to every address of a rule. */
export function RuleTest({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const { email, webhook } = rule.channels
  const addresses = [...email, ...(webhook ? [webhook.url] : [])]
  const send = () => client.POST('/notifications/rules/{id}/test', { params: { path: { id: rule.id } } })
  return (
    <TestDialog
      title={`Test: ${ruleKinds[rule.kind].label}`}
      intro={
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {addresses.length === 0
            ? 'This rule has no address: its notifications are in the list only. Add an address to send a test.'
            : `A message that says it is a test is sent to ${addresses.join(', ')}.`}
        </Text>
      }
      action="Send the test"
      onTest={addresses.length > 0 ? send : null}
      onClose={onClose}
    >
      {(results) =>
        results.map(({ channel, address, delivered, error }) => (
          <TestOutcome key={`${channel} ${address}`} isAccepted={delivered}>
            {address}
            {error !== null && `: ${error}`}
          </TestOutcome>
        ))
      }
    </TestDialog>
  )
}
