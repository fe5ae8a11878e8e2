import { Text } from '@mantine/core'
import { useRefresh } from '../../api/use-refresh.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'

export interface NewKey {
  name: string
  hash: string
  secret: string
  /** The reasons why a guardrail or rate limit was not saved. */
  problems: readonly unknown[]
}

interface NewKeySecretProps {
  created: NewKey
  onClose: () => void
}

export function NewKeySecret({ created, onClose }: NewKeySecretProps) {
  const refresh = useRefresh()
  const close = () => {
    void refresh('/keys', '/limits', '/guardrails')
    onClose()
  }
  return (
    <SecretOnce title={`The secret of ${created.name}`} secret={created.secret} onClose={close}>
      {created.problems.length > 0 && (
        <Text size="sm">
          The key was created, but not all of its rules were saved. Edit the key to add them.
        </Text>
      )}
      {created.problems.map((problem) => (
        <ErrorNotice key={String(problem)} error={problem} />
      ))}
    </SecretOnce>
  )
}
