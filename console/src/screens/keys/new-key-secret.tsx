import { Text } from '@mantine/core'
import { useRefresh } from '../../api/use-refresh.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { SecretOnce } from '../../components/secret-once.tsx'

export interface NewKey {
  name: string
  hash: string
  secret: string
  /** The reason the guardrail was not assigned. */
  guardrailError: unknown
}

interface NewKeySecretProps {
  created: NewKey
  onClose: () => void
}

export function NewKeySecret({ created, onClose }: NewKeySecretProps) {
  const refresh = useRefresh()
  const close = () => {
    void refresh('/keys')
    onClose()
  }
  return (
    <SecretOnce title={`The secret of ${created.name}`} secret={created.secret} onClose={close}>
      {created.guardrailError !== null && (
        <>
          <Text size="sm">
            The key was created, but its guardrail was not assigned. Nothing restricts it yet.
          </Text>
          <ErrorNotice error={created.guardrailError} />
        </>
      )}
    </SecretOnce>
  )
}
