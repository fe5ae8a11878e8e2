import type { Provider } from '../catalog/provider.ts'

export const providers: Provider[] = []
