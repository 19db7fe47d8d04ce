/** Under which keys the cache keeps what several pages read or change. */
export const userKey = (userId: string) => ['gate', 'user', userId];
export const grantsKey = ['gate', 'grants'];
export const apisKey = ['gate', 'apis'];
export const connectionsKey = ['gate', 'connections'];
