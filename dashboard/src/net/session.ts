// The bearer token. It lives in the tab's session storage only.
const key = 'digd.token';

export const token = (): string | null => sessionStorage.getItem(key);
export const setToken = (value: string): void => sessionStorage.setItem(key, value);
export const clearToken = (): void => sessionStorage.removeItem(key);
